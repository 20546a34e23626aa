/* files.h - a folder for the files of one suite, and .npy files made byte by byte.
 *
 * open_folder and remove_folder are a suite's unchecked fixture: they run in the parent, so that
 * the folder goes even when a test (a forked child) fails. Files in it start with a letter, unless
 * the program left something behind: n_hidden_files counts that.
 */
#ifndef TESTS_FILES_H
#define TESTS_FILES_H

#include <check.h>
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/status.h"

static char folder[512];

static inline void open_folder(void)
{
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.400s/ring_demo_test_XXXXXX", parent ? parent : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

struct path {
    char text[1024];
};

/* A name in the folder, good until the end of the statement: in("a.npy").text */
static inline struct path in(const char *name)
{
    struct path path;
    snprintf(path.text, sizeof path.text, "%s/%s", folder, name);
    return path;
}

static inline int n_hidden_files(void)
{
    int n = 0;
    DIR *dir = opendir(folder);
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        n += entry->d_name[0] == '.' && strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
    closedir(dir);
    return n;
}

static inline int n_files(void)
{
    int n = 0;
    DIR *dir = opendir(folder);
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        n += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
    closedir(dir);
    return n;
}

static inline void remove_folder(void)
{
    DIR *dir = opendir(folder);
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));)
        if (unlink(in(entry->d_name).text) != 0)
            rmdir(in(entry->d_name).text); /* "." and ".." stay */
    closedir(dir);
    rmdir(folder);
}

static inline void write_file(const char *name, const void *bytes, size_t n_bytes)
{
    FILE *file = fopen(in(name).text, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, n_bytes, file), n_bytes);
    ck_assert_int_eq(fclose(file), 0);
}

/* At most `size` bytes of a file, and how many they are; -1 when it is not there. */
static inline long read_file(const char *name, void *out, size_t size)
{
    FILE *file = fopen(in(name).text, "rb");
    if (!file)
        return -1;
    long n = (long)fread(out, 1, size, file);
    fclose(file);
    return n;
}

/* A .npy file: version major.0, the dict as given (not padded), then the data. */
static inline void write_npy(const char *name, int major, const char *dict, const void *data,
                             size_t n_bytes)
{
    unsigned char file[8192] = "\x93NUMPY";
    size_t length = strlen(dict), at = major == 1 ? 10 : 12;
    ck_assert_uint_le(at + length + n_bytes, sizeof file);
    file[6] = (unsigned char)major;
    file[8] = (unsigned char)(length & 255);
    file[9] = (unsigned char)(length >> 8);
    memcpy(file + at, dict, length);
    if (n_bytes > 0)
        memcpy(file + at + length, data, n_bytes);
    write_file(name, file, at + length + n_bytes);
}

/* The status, and every text of the list (ended by NULL) in the one line of the sentence. */
static inline void assert_refused(enum status got, enum status want, const struct error *err,
                                  const char *const *texts)
{
    ck_assert_msg(got == want, "status %d, not %d: %s", got, want, err->text);
    for (; *texts; texts++)
        ck_assert_msg(strstr(err->text, *texts) != NULL, "no '%s' in: %s", *texts, err->text);
    ck_assert_msg(!strchr(err->text, '\n'), "more than one line: %s", err->text);
    ck_assert_msg(strlen(err->text) < sizeof err->text - 1, "cut off: %s", err->text);
}

#define ASSERT_REFUSED(got, want, err, ...) \
    assert_refused(got, want, err, (const char *const[]){__VA_ARGS__, NULL})

#endif
