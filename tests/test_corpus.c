/* test_corpus.c - the small inputs in tests/corpus/, by hand and from fuzzing, and what a byte
 * changed in each of docs/plans/ does: none crashes the reader, the proof or a run. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/input.h"
#include "tests/fuzz_plan.h"
#include "tests/suites.h"

/* Calls `use` with every file of the folder; returns how many there were. */
static int each_file(const char *folder, void (*use)(const char *text, size_t length))
{
    int n = 0;
    DIR *dir = opendir(folder);
    ck_assert_msg(dir != NULL, "%s: not there; tests run at the top of the tree", folder);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char path[512], *text = NULL;
        size_t length = 0;
        struct error err = {""};
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        ck_assert_msg(input_read(path, path, 1 << 24, &text, &length, &err) == STATUS_OK, "%s",
                      err.text);
        use(text, length);
        free(text);
        n++;
    }
    closedir(dir);
    return n;
}

static void as_it_is(const char *text, size_t length)
{
    LLVMFuzzerTestOneInput((const unsigned char *)text, length);
}

static void one_byte_changed(const char *text, size_t length)
{
    static const char bytes[] = {'\0', '\n', ' ', ':', '9', '1', '[', '-', '#', 'a'};
    for (size_t at = 0; at < length; at++)
        for (size_t i = 0; i < sizeof bytes; i++) {
            char *changed = malloc(length);
            memcpy(changed, text, length);
            changed[at] = bytes[i];
            as_it_is(changed, length);
            free(changed);
        }
}

START_TEST(what_was_found_before) { ck_assert_int_gt(each_file("tests/corpus", as_it_is), 10); }
END_TEST

START_TEST(examples_with_one_byte_changed)
{
    ck_assert_int_gt(each_file("docs/plans", one_byte_changed), 1);
}
END_TEST

Suite *corpus_suite(void)
{
    Suite *suite = suite_create("corpus");
    TCase *tests = tcase_create("corpus");
    tcase_add_test(tests, what_was_found_before);
    tcase_add_test(tests, examples_with_one_byte_changed);
    suite_add_tcase(suite, tests);
    return suite;
}
