/* test_npy.c - good files are read, bad ones are refused by name, and none is left half written. */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include "common/npy.h"
#include "tests/files.h"
#include "tests/suites.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))
#define DICT(descr, order, shape) \
    "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape ", }\n"

static const float four[] = {1, -2.5f, 0, 1e30f};

/* --- reading --- */

static const struct {
    const char *dict;
    int n_dims;
    int64_t shape[3];
} good[] = {
    {DICT("'<f4'", "False", "(4,)"), 1, {4}},
    {DICT("'<f4'", "False", "(2, 2)"), 2, {2, 2}},
    {DICT("'<f4'", "False", "(1, 4, 1)"), 3, {1, 4, 1}},
    {DICT("'<f4'", "True", "(4,)"), 1, {4}},
    {DICT("'=f4'", "False", "(4,)"), 1, {4}},
    {DICT("'|f4'", "False", "(4,)"), 1, {4}},
    {DICT("'f4'", "False", "(4,)"), 1, {4}},
    {DICT("\"<f4\"", "False", "(4,)"), 1, {4}},
    {DICT("'<f4'", "False", "(4L,)"), 1, {4}},
    {"{\"shape\":(2,2),\"descr\":'<f4','fortran_order':False}", 2, {2, 2}},
    {"  { 'fortran_order' :False ,'shape' : ( 2 ,2 , ) ,\n\t'descr': '<f4' ,}  \n \n", 2, {2, 2}},
};

START_TEST(good_headers_are_read)
{
    float out[4];
    for (int i = 0; i < COUNT(good) * 3; i++) {
        struct npy npy;
        struct error err;
        int k = i / 3;
        write_npy("good.npy", 1 + i % 3, good[k].dict, four, sizeof four);
        ck_assert_msg(npy_open(&npy, in("good.npy").text, &err) == STATUS_OK, "%s: %s",
                      good[k].dict, err.text);
        ck_assert_int_eq(npy.dtype, DTYPE_FLOAT32);
        ck_assert_int_eq(npy.count, 4);
        ck_assert_int_eq(npy.n_dims, good[k].n_dims);
        for (int d = 0; d < npy.n_dims; d++)
            ck_assert_int_eq(npy.shape[d], good[k].shape[d]);
        memset(out, 0xff, sizeof out);
        ck_assert_int_eq(npy_read(&npy, 0, 4, out, &err), STATUS_OK);
        ck_assert_mem_eq(out, four, sizeof four);
        npy_close(&npy);
        npy_close(&npy);
    }
}
END_TEST

static void check_type(const char *dict, enum dtype dtype, int64_t count, size_t bytes)
{
    static const char zeros[64];
    struct npy npy;
    struct error err;
    write_npy("type.npy", 1, dict, zeros, bytes);
    ck_assert_msg(npy_open(&npy, in("type.npy").text, &err) == STATUS_OK, "%s: %s", dict, err.text);
    ck_assert_int_eq(npy.dtype, dtype);
    ck_assert_int_eq(npy.count, count);
    ck_assert_int_eq(npy_read(&npy, 0, 0, NULL, &err), STATUS_OK);
    npy_close(&npy);
}

START_TEST(every_type_and_odd_shapes)
{
    check_type(DICT("'<f4'", "False", "(3,)"), DTYPE_FLOAT32, 3, 12);
    check_type(DICT("'<f8'", "False", "(3,)"), DTYPE_FLOAT64, 3, 24);
    check_type(DICT("'<f2'", "False", "(3,)"), DTYPE_FLOAT16, 3, 6);
    check_type(DICT("'<i4'", "False", "(3,)"), DTYPE_INT32, 3, 12);
    check_type(DICT("'<f8'", "False", "()"), DTYPE_FLOAT64, 1, 8);
    check_type(DICT("'<f8'", "True", "()"), DTYPE_FLOAT64, 1, 8);
    check_type(DICT("'<i4'", "False", "(0,)"), DTYPE_INT32, 0, 0);
    check_type(DICT("'<i4'", "False", "(3, 0, 5)"), DTYPE_INT32, 0, 0);
    check_type(DICT("'<i4'", "False", "(0, 100000000000000000)"), DTYPE_INT32, 0, 0);
    check_type(DICT("'<i4'", "False",
                    "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2)"),
               DTYPE_INT32, 2, 8);
}
END_TEST

START_TEST(any_part_is_read)
{
    struct npy npy;
    struct error err = {""};
    float out[3] = {9, 9, 9};
    write_npy("part.npy", 1, DICT("'<f4'", "False", "(4,)"), four, sizeof four);
    ck_assert_int_eq(npy_open(&npy, in("part.npy").text, &err), STATUS_OK);
    ck_assert_int_eq(npy_read(&npy, 1, 2, out, &err), STATUS_OK);
    ck_assert(out[0] == four[1] && out[1] == four[2] && out[2] == 9);
    ck_assert_int_eq(npy_read(&npy, 4, 0, out, &err), STATUS_OK);
    ASSERT_REFUSED(npy_read(&npy, 3, 2, out, &err), STATUS_MACHINE, &err, "part.npy", "2 elements");
    ck_assert_int_eq(npy_read(&npy, -1, 1, out, &err), STATUS_MACHINE);
    ck_assert_int_eq(npy_read(&npy, 5, 0, out, &err), STATUS_MACHINE);
    ck_assert_int_eq(npy_read(&npy, 1, -1, out, &err), STATUS_MACHINE);
    ck_assert_int_eq(npy_read(&npy, 1, INT64_MAX, out, &err), STATUS_MACHINE);
    npy_close(&npy);
    ASSERT_REFUSED(npy_read(&npy, 0, 0, out, &err), STATUS_MACHINE, &err, "closed");
}
END_TEST

/* A sparse file of over 4 GiB: positions beyond 32 bits. */
START_TEST(offsets_are_64_bits_wide)
{
    static const char dict[] = DICT("'<f8'", "False", "(600000000,)");
    const int64_t start = 10 + (int64_t)sizeof dict - 1;
    struct npy npy;
    struct error err;
    double last = 42, out = 0;
    write_npy("huge.npy", 1, dict, NULL, 0);
    FILE *file = fopen(in("huge.npy").text, "r+b");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fseeko(file, (off_t)(start + INT64_C(599999999) * 8), SEEK_SET), 0);
    ck_assert_uint_eq(fwrite(&last, 8, 1, file), 1);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_msg(npy_open(&npy, in("huge.npy").text, &err) == STATUS_OK, "%s", err.text);
    ck_assert_int_eq(npy_read(&npy, 599999999, 1, &out, &err), STATUS_OK);
    ck_assert(out == 42);
    npy_close(&npy);
    unlink(in("huge.npy").text);
}
END_TEST

/* --- refusals --- */

/* Each with 16 bytes of data, and what the sentence must hold beside the file's name. */
static const struct {
    const char *dict;
    const char *texts[4];
} bad[] = {
    {DICT("'>f4'", "False", "(4,)"), {"big-endian float32", "'>f4'", "arr.astype('<f4')"}},
    {DICT("'>f8'", "False", "(2,)"), {"big-endian float64", "arr.astype('<f8')"}},
    {DICT("'>i4'", "False", "(4,)"), {"big-endian int32", "arr.astype('<i4')"}},
    {DICT("'>f2'", "False", "(8,)"), {"big-endian float16", "'>f2'", "arr.astype('<f2')"}},
    {DICT("'<f3'", "False", "(8,)"),
     {"type '<f3'", "'<f4' (float32)", "'<f8' (float64), '<f2' (float16), '<i4' (int32)"}},
    {DICT("'<V2'", "False", "(8,)"), {"type '<V2'", "bfloat16", "arr.astype('<f4')"}},
    {DICT("'|V2'", "False", "(8,)"), {"type '|V2'", "bfloat16", "arr.astype('<f4')"}},
    {DICT("'|V4'", "False", "(4,)"), {"type '|V4'", "supported are '<f4'"}},
    {DICT("'<i8'", "False", "(2,)"), {"type '<i8'", "supported are '<f4'"}},
    {DICT("'>i8'", "False", "(2,)"), {"type '>i8'", "supported"}},
    {DICT("'|b1'", "False", "(16,)"), {"type '|b1'", "supported"}},
    {DICT("'<u4'", "False", "(4,)"), {"type '<u4'"}},
    {DICT("'<f44'", "False", "(4,)"), {"type '<f44'"}},
    {DICT("'<f'", "False", "(4,)"), {"type '<f'"}},
    {DICT("'<'", "False", "(4,)"), {"type '<'"}},
    {DICT("''", "False", "(4,)"), {"type ''"}},
    {DICT("'<\x1b[31m\n'", "False", "(4,)"), {"type '<\\x1b[31m\\x0a'"}},
    {DICT("'|O'", "False", "(2,)"), {"pickled Python objects", "'|O'", "arr.astype('<f4')"}},
    {DICT("'O'", "False", "(2,)"), {"pickled Python objects"}},
    {DICT("[('x', '<f4'), ('y', '<f4')]", "False", "(2,)"),
     {"structured", "[('x', '<f4')", "arr['x']"}},
    {DICT("('<f4', (2,))", "False", "(2,)"), {"structured"}},
    {DICT("'<f4'", "True", "(2, 2)"), {"Fortran order", "(2, 2)", "np.ascontiguousarray"}},
    {DICT("'<f4'", "False", "(5,)"),
     {"truncated", "5 elements of float32 are 20 bytes", "only 16 follow"}},
    {DICT("'<f4'", "False", "(3,)"), {"4 bytes too many", "12 bytes", "16 follow"}},
    {DICT("'<f8'", "False", "()"), {"8 bytes too many"}},
    {DICT("'<f4'", "False", "(0, 4)"), {"16 bytes too many"}},
    {DICT("'<f4'", "False", "(99999999999999999999999999,)"), {"more elements than a file"}},
    {DICT("'<f4'", "False", "(9223372036854775807,)"), {"more elements than a file"}},
    {DICT("'<f4'", "False", "(4294967296, 4294967296)"), {"more elements than a file"}},
    {DICT("'<f4'", "False", "(0, 4294967296, 4294967296)"), {"more elements than a file"}},
    {DICT("'<f8'", "False", "(576460752303423487,)"), {"truncated", "4611686018427387896 bytes"}},
    {DICT("'<f4'", "False", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,4)"),
     {"more than 32 dimensions", "reshape(-1)"}},
    {DICT("'<f4'", "False", "(-4,)"), {"damaged header: '-4,)", "a dimension"}},
    {DICT("'<f4'", "False", "(4.0,)"), {"damaged header: '.0,)", "',' or ')'"}},
    {DICT("'<f4'", "False", "(2 2)"), {"damaged header: '2)", "',' or ')'"}},
    {DICT("'<f4'", "False", "(4)"), {"damaged header: ')", "','"}},
    {DICT("'<f4'", "False", "(,)"), {"a dimension"}},
    {DICT("'<f4'", "False", "[4]"), {"'[4]", "a shape such as (3, 4)"}},
    {DICT("'<f4'", "False", "4"), {"a shape such as (3, 4)"}},
    {DICT("'<f4'", "Maybe", "(4,)"), {"'Maybe", "True or False"}},
    {DICT("'<f4'", "0", "(4,)"), {"True or False"}},
    {DICT("None", "False", "(4,)"), {"'None", "a type such as '<f4'"}},
    {DICT("'<f4", "False", "(4,)"), {"type '<f4, '"}},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (4,", {"it ends where a dimension"}},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (4", {"it ends where ',' or ')'"}},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (4,)", {"it ends where ',' or '}'"}},
    {"{'descr': '<f4", {"it ends where a closing quote"}},
    {"{'descr' '<f4'}", {"':'"}},
    {"{'descr': '<f4', 'fortran_order': False}", {"lacks the key 'shape'"}},
    {"{'descr': '<f4', 'shape': (4,)}", {"lacks the key 'fortran_order'"}},
    {"{'fortran_order': False, 'shape': (4,)}", {"lacks the key 'descr'"}},
    {"{}", {"lacks the key"}},
    {"", {"it ends where '{'"}},
    {"descr", {"'descr' where '{'"}},
    {"{,}", {"a key such as 'shape'"}},
    {"{'descr': '<f4', 'descr': '<f4'}", {"a second key 'descr'"}},
    {"{'desc\xff': '<f4'}", {"unknown key 'desc\\xff'", "descr, fortran_order and shape"}},
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (4,)} x", {"'x'", "nothing but blanks"}},
};

START_TEST(bad_headers_are_refused)
{
    for (int i = 0; i < COUNT(bad) * 3; i++) {
        struct npy npy;
        struct error err = {""};
        const char *const *t = bad[i / 3].texts;
        write_npy("bad.npy", 1 + i % 3, bad[i / 3].dict, four, sizeof four);
        enum status status = npy_open(&npy, in("bad.npy").text, &err);
        ASSERT_REFUSED(status, STATUS_USAGE, &err, "bad.npy: ", t[0], t[1], t[2], t[3]);
        ck_assert_ptr_null(npy.path);
    }
}
END_TEST

static const struct {
    size_t n_bytes;
    const char *bytes;
    const char *texts[3];
} foreign[] = {
    {0, "", {"is empty", "np.save"}},
    {4, "\x93NUM", {"is not a .npy file", "begins with '\\x93NUM'"}},
    {6, "1,2,3\n", {"begins with '1,2,3\\x0a'", "'\\x93NUMPY'", "np.save"}},
    {12, "\x93NUMPX\x01\x00v\x00{'", {"begins with '\\x93NUMPX\\x01\\x00v\\x00{''"}},
    {30, "PK\x03\x04\x14\x00\x00\x00\x00\x00\x00\x00\x21\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
         "\x00\x00\x00\x00\x00\x00\x00",
     {".npz archive", "np.save"}},
    {12, "\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00]", {"pickle", "never loaded"}},
    {6, "\x93NUMPY", {"truncated", "after 6 bytes"}},
    {9, "\x93NUMPY\x01\x00v", {"truncated", "after 9 bytes"}},
    {11, "\x93NUMPY\x02\x00v\x00\x00", {"truncated", "after 11 bytes"}},
    {12, "\x93NUMPY\x01\x00\xff\xff{'", {"truncated", "65535 bytes", "only 2 follow"}},
    {14, "\x93NUMPY\x02\x00\xff\xff\xff\xff{'", {"4294967295 bytes", "only 2 follow"}},
    {12, "\x93NUMPY\x04\x00v\x00{'", {"version 4.0", "1.0, 2.0 and 3.0"}},
    {12, "\x93NUMPY\x00\x01v\x00{'", {"version 0.1"}},
    {12, "\x93NUMPY\x01\x01v\x00{'", {"version 1.1"}},
};

START_TEST(foreign_files_are_refused)
{
    for (int i = 0; i < COUNT(foreign); i++) {
        struct npy npy;
        struct error err = {""};
        const char *const *t = foreign[i].texts;
        write_file("foreign.npy", foreign[i].bytes, foreign[i].n_bytes);
        enum status status = npy_open(&npy, in("foreign.npy").text, &err);
        ASSERT_REFUSED(status, STATUS_USAGE, &err, "foreign.npy: ", t[0], t[1], t[2]);
    }
}
END_TEST

START_TEST(every_cut_of_a_file_is_refused)
{
    char file[256];
    write_npy("whole.npy", 1, DICT("'<f4'", "False", "(4,)"), four, sizeof four);
    long n = read_file("whole.npy", file, sizeof file);
    for (long cut = 0; cut < n; cut++) {
        struct npy npy;
        struct error err = {""};
        write_file("cut.npy", file, (size_t)cut);
        enum status status = npy_open(&npy, in("cut.npy").text, &err);
        ASSERT_REFUSED(status, STATUS_USAGE, &err, "cut.npy: ");
    }
}
END_TEST

/* Every byte of a good file replaced by hostile ones: read or refused, never worse. */
START_TEST(no_byte_does_harm)
{
    static const char hostile[] = {0, -1, '(', ')', '\'', '9', ',', '{', '}', '\n', 'L'};
    char file[256], out[sizeof four];
    write_npy("whole.npy", 2, DICT("'<f4'", "False", "(2, 2)"), four, sizeof four);
    long n = read_file("whole.npy", file, sizeof file);
    for (long i = 0; i < n * COUNT(hostile); i++) {
        struct npy npy;
        struct error err = {""};
        char kept = file[i / COUNT(hostile)];
        file[i / COUNT(hostile)] = hostile[i % COUNT(hostile)];
        write_file("hostile.npy", file, (size_t)n);
        file[i / COUNT(hostile)] = kept;
        enum status status = npy_open(&npy, in("hostile.npy").text, &err);
        if (status != STATUS_OK)
            ASSERT_REFUSED(status, STATUS_USAGE, &err, "hostile.npy: ");
        else
            ck_assert(npy.count * (int64_t)dtype_size(npy.dtype) == sizeof out &&
                      npy_read(&npy, 0, npy.count, out, &err) == STATUS_OK);
        npy_close(&npy);
    }
}
END_TEST

START_TEST(a_long_header_is_refused)
{
    enum { LENGTH = 2 << 20 };
    char *file = malloc(12 + LENGTH);
    struct npy npy;
    struct error err = {""};
    ck_assert_ptr_nonnull(file);
    memset(file, ' ', 12 + LENGTH);
    memcpy(file, "\x93NUMPY\x02\x00\x00\x00\x20\x00", 12);
    write_file("long.npy", file, 12 + LENGTH);
    free(file);
    enum status status = npy_open(&npy, in("long.npy").text, &err);
    ASSERT_REFUSED(status, STATUS_USAGE, &err, "long.npy: ", "2097152 bytes", "1048576");
}
END_TEST

static enum status try_open(const char *path, struct error *err)
{
    struct npy npy;
    enum status status = npy_open(&npy, path, err);
    npy_close(&npy);
    return status;
}

START_TEST(paths_are_refused)
{
    struct error err = {""};
    char name[2000];
    ASSERT_REFUSED(try_open(folder, &err), STATUS_USAGE, &err, folder, "is a directory");
    ASSERT_REFUSED(try_open(in("none.npy").text, &err), STATUS_USAGE, &err, "none.npy",
                   "No such file");
    ASSERT_REFUSED(try_open("", &err), STATUS_USAGE, &err, "No such file");
    ASSERT_REFUSED(try_open("/dev/null", &err), STATUS_USAGE, &err, "/dev/null", "is a device");
    ck_assert_int_eq(mkfifo(in("pipe").text, 0600), 0);
    ASSERT_REFUSED(try_open(in("pipe").text, &err), STATUS_USAGE, &err, "pipe", "is a pipe");
    ASSERT_REFUSED(try_open(in("a\nb\x1b.npy").text, &err), STATUS_USAGE, &err, "a\\x0ab\\x1b.npy");
    memset(name, 'x', sizeof name);
    strcpy(name + sizeof name - 8, "end.npy");
    ASSERT_REFUSED(try_open(name, &err), STATUS_USAGE, &err, "...xxx", "xend.npy: ",
                   "File name too long");
}
END_TEST

/* Root may read everything, so root becomes nobody for a moment. The folder is the owner's. */
START_TEST(a_forbidden_file_is_refused)
{
    struct error err = {""};
    uid_t user = geteuid();
    write_npy("mine.npy", 1, DICT("'<f4'", "False", "(4,)"), four, sizeof four);
    ck_assert_int_eq(chmod(in("mine.npy").text, 0), 0);
    if (user == 0)
        ck_assert_int_eq(seteuid(65534), 0);
    enum status status = try_open(in("mine.npy").text, &err);
    if (user == 0)
        ck_assert_int_eq(seteuid(user), 0);
    ASSERT_REFUSED(status, STATUS_USAGE, &err, "mine.npy", "Permission denied");
}
END_TEST

START_TEST(a_changed_file_is_refused)
{
    struct npy npy;
    struct error err = {""};
    float out[4];
    write_npy("old.npy", 1, DICT("'<f4'", "False", "(4,)"), four, sizeof four);
    ck_assert_int_eq(npy_open(&npy, in("old.npy").text, &err), STATUS_OK);
    write_npy("new.npy", 1, DICT("'<f4'", "False", "(4,)"), four, sizeof four);
    ck_assert_int_eq(rename(in("new.npy").text, in("old.npy").text), 0);
    ASSERT_REFUSED(npy_read(&npy, 0, 4, out, &err), STATUS_USAGE, &err, "old.npy", "changed");
    unlink(in("old.npy").text);
    ASSERT_REFUSED(npy_read(&npy, 0, 4, out, &err), STATUS_USAGE, &err, "old.npy", "No such file");
    npy_close(&npy);
}
END_TEST

START_TEST(no_descriptor_stays_open)
{
    struct npy files[64];
    struct error err;
    float out[4];
    struct rlimit limit;
    write_npy("many.npy", 1, DICT("'<f4'", "False", "(4,)"), four, sizeof four);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    struct rlimit few = {32, limit.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    for (int i = 0; i < 64; i++)
        ck_assert_msg(npy_open(&files[i], in("many.npy").text, &err) == STATUS_OK, "%s", err.text);
    for (int i = 0; i < 64; i++)
        ck_assert_int_eq(npy_read(&files[i], 0, 4, out, &err), STATUS_OK);
    few.rlim_cur = 0;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
    ASSERT_REFUSED(npy_read(&files[0], 0, 0, NULL, &err), STATUS_MACHINE, &err, "Too many open");
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    for (int i = 0; i < 64; i++)
        npy_close(&files[i]);
}
END_TEST

START_TEST(shapes_are_shown)
{
    char text[NPY_SHAPE_TEXT];
    struct npy npy = {.n_dims = 0, .shape = {12, 3, 0}};
    static const char *const texts[] = {"()", "(12,)", "(12, 3)", "(12, 3, 0)"};
    for (; npy.n_dims < 4; npy.n_dims++) {
        npy_shape_text(&npy, text);
        ck_assert_str_eq(text, texts[npy.n_dims]);
    }
    npy.n_dims = NPY_MAX_DIMS;
    for (int i = 0; i < NPY_MAX_DIMS; i++)
        npy.shape[i] = INT64_MAX;
    npy_shape_text(&npy, text);
    ck_assert_uint_eq(strlen(text), 21 * NPY_MAX_DIMS);
}
END_TEST

/* --- writing --- */

static const struct npy like_four = {.dtype = DTYPE_FLOAT32, .n_dims = 1, .shape = {4}, .count = 4};

START_TEST(a_file_is_written_byte_by_byte)
{
    struct npy_writer w;
    struct error err;
    unsigned char got[256], want[128 + sizeof four] = "\x93NUMPY\x01\x00v";
    static const char dict[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }";
    memset(want + 10, ' ', 118);
    memcpy(want + 10, dict, sizeof dict - 1);
    want[127] = '\n';
    memcpy(want + 128, four, sizeof four);
    ck_assert_int_eq(npy_create(&w, in("out.npy").text, &like_four, &err), STATUS_OK);
    ck_assert_int_eq(npy_append(&w, four, 1, &err), STATUS_OK);
    ck_assert_int_eq(npy_append(&w, four, 0, &err), STATUS_OK);
    ck_assert_int_eq(npy_append(&w, four + 1, 3, &err), STATUS_OK);
    ck_assert_int_eq(read_file("out.npy", got, sizeof got), -1);
    ck_assert_int_eq(n_hidden_files(), 1);
    ck_assert_int_eq(npy_commit(&w, &err), STATUS_OK);
    npy_discard(&w);
    ck_assert_int_eq(read_file("out.npy", got, sizeof got), sizeof want);
    ck_assert_mem_eq(got, want, sizeof want);
    ck_assert_int_eq(n_hidden_files(), 0);
}
END_TEST

static void round_trip(const struct npy *like, const void *data)
{
    struct npy_writer w;
    struct npy npy;
    struct error err;
    size_t bytes = (size_t)like->count * dtype_size(like->dtype);
    char out[256];
    ck_assert_int_eq(npy_create(&w, in("trip.npy").text, like, &err), STATUS_OK);
    ck_assert_int_eq(npy_append(&w, data, like->count, &err), STATUS_OK);
    ck_assert_int_eq(npy_commit(&w, &err), STATUS_OK);
    ck_assert_msg(npy_open(&npy, in("trip.npy").text, &err) == STATUS_OK, "%s", err.text);
    ck_assert_int_eq(npy.dtype, like->dtype);
    ck_assert_int_eq(npy.n_dims, like->n_dims);
    ck_assert_int_eq(npy.count, like->count);
    ck_assert_mem_eq(npy.shape, like->shape, sizeof npy.shape);
    ck_assert_int_eq(npy.data_offset % 64, 0);
    ck_assert_int_eq(npy_read(&npy, 0, npy.count, out, &err), STATUS_OK);
    ck_assert_mem_eq(out, data, bytes);
    npy_close(&npy);
}

START_TEST(what_is_written_is_read)
{
    static const char data[256] = "any bytes \xff\xff\xff\x7f are elements";
    for (int t = 0; t < N_DTYPES; t++)
        for (int n_dims = 0; n_dims <= NPY_MAX_DIMS && t != DTYPE_BFLOAT16; n_dims++) {
            struct npy like = {.dtype = (enum dtype)t, .n_dims = n_dims, .count = 1};
            for (int d = 0; d < n_dims; d++) {
                like.shape[d] = d < 3 ? 3 - d : 1;
                like.count *= like.shape[d];
            }
            round_trip(&like, data);
        }
    struct npy empty = {.dtype = DTYPE_INT32, .n_dims = 2, .shape = {0, INT64_MAX / 16}};
    round_trip(&empty, data);
}
END_TEST

START_TEST(bfloat16_is_not_written)
{
    struct npy_writer w;
    struct npy like = {.dtype = DTYPE_BFLOAT16, .n_dims = 1, .shape = {4}, .count = 4};
    struct error err = {""};
    ASSERT_REFUSED(npy_create(&w, in("brain.npy").text, &like, &err), STATUS_USAGE, &err,
                   "brain.npy", "cannot hold bfloat16", "float32 holds all of its values");
    ck_assert_int_eq(n_hidden_files(), 0);
    ck_assert_int_ne(access(in("brain.npy").text, F_OK), 0);
    npy_discard(&w);
}
END_TEST

/* No shape that can be read needs over 255 bytes; the length has two of them all the same. */
START_TEST(a_long_header_is_written)
{
    struct npy_writer w;
    struct error err;
    unsigned char got[1024];
    struct npy like = {.dtype = DTYPE_FLOAT32, .n_dims = NPY_MAX_DIMS};
    for (int d = 0; d < NPY_MAX_DIMS; d++)
        like.shape[d] = INT64_MAX;
    ck_assert_int_eq(npy_create(&w, in("wide.npy").text, &like, &err), STATUS_OK);
    ck_assert_int_eq(npy_commit(&w, &err), STATUS_OK);
    long n = read_file("wide.npy", got, sizeof got);
    ck_assert(n > 700 && n % 64 == 0);
    ck_assert_int_eq(got[8] | got[9] << 8, n - 10);
    ck_assert_int_eq(got[n - 1], '\n');
}
END_TEST

/* Fills out.npy with a text that must survive, and says whether it did. */
static void keep_old(void) { write_file("out.npy", "old", 3); }

static void assert_old_kept(void)
{
    char text[8];
    ck_assert_int_eq(read_file("out.npy", text, sizeof text), 3);
    ck_assert_mem_eq(text, "old", 3);
    ck_assert_int_eq(n_hidden_files(), 0);
}

START_TEST(a_discarded_file_leaves_nothing)
{
    struct npy_writer w = {0};
    struct error err;
    npy_discard(&w);
    keep_old();
    ck_assert_int_eq(npy_create(&w, in("out.npy").text, &like_four, &err), STATUS_OK);
    ck_assert_int_eq(npy_append(&w, four, 4, &err), STATUS_OK);
    npy_discard(&w);
    npy_discard(&w);
    assert_old_kept();
    ASSERT_REFUSED(npy_append(&w, four, 1, &err), STATUS_MACHINE, &err, "not being written");
    ASSERT_REFUSED(npy_commit(&w, &err), STATUS_MACHINE, &err, "not being written");
}
END_TEST

START_TEST(a_wrong_count_leaves_nothing)
{
    struct npy_writer w;
    struct error err = {""};
    keep_old();
    ck_assert_int_eq(npy_create(&w, in("out.npy").text, &like_four, &err), STATUS_OK);
    ck_assert_int_eq(npy_append(&w, four, 3, &err), STATUS_OK);
    ASSERT_REFUSED(npy_commit(&w, &err), STATUS_MACHINE, &err, "out.npy", "1 elements are missing");
    assert_old_kept();
    ck_assert_int_eq(npy_create(&w, in("out.npy").text, &like_four, &err), STATUS_OK);
    ck_assert_int_eq(npy_append(&w, four, 3, &err), STATUS_OK);
    ASSERT_REFUSED(npy_append(&w, four, 2, &err), STATUS_MACHINE, &err, "out.npy", "2 elements");
    assert_old_kept();
}
END_TEST

START_TEST(a_commit_replaces_the_old_file)
{
    struct npy_writer w, again;
    struct error err;
    char text[256];
    keep_old();
    ck_assert_int_eq(npy_create(&w, in("out.npy").text, &like_four, &err), STATUS_OK);
    ck_assert_int_eq(npy_create(&again, in("out.npy").text, &like_four, &err), STATUS_OK);
    ck_assert_str_ne(w.temporary, again.temporary);
    ck_assert_int_eq(npy_append(&w, four, 4, &err), STATUS_OK);
    ck_assert_int_eq(npy_commit(&w, &err), STATUS_OK);
    npy_discard(&again);
    ck_assert_int_eq(read_file("out.npy", text, sizeof text), 128 + sizeof four);
    ck_assert_int_eq(n_hidden_files(), 0);
}
END_TEST

/* A file may not grow beyond a size: the kernel's short write, then EFBIG, as on a full disk. */
START_TEST(a_full_disk_leaves_nothing)
{
    enum { COUNT_64K = 1 << 16 };
    struct npy like = like_four;
    static const float zeros[COUNT_64K];
    static const rlim_t sizes[] = {0, 100, 1000, 128 + COUNT_64K * 4 - 1};
    struct rlimit limit;
    like.shape[0] = like.count = COUNT_64K;
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    for (int i = 0; i < COUNT(sizes); i++) {
        struct npy_writer w;
        struct error err = {""};
        struct rlimit small = {sizes[i], limit.rlim_max};
        keep_old();
        ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
        enum status status = npy_create(&w, in("out.npy").text, &like, &err);
        ck_assert_int_eq(status, sizes[i] < 128 ? STATUS_MACHINE : STATUS_OK);
        if (status == STATUS_OK)
            status = npy_append(&w, zeros, COUNT_64K, &err);
        ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
        ASSERT_REFUSED(status, STATUS_MACHINE, &err, "out.npy: cannot be written: File too large");
        npy_discard(&w);
        assert_old_kept();
    }
}
END_TEST

static enum status try_create(const char *path, struct error *err)
{
    struct npy_writer w;
    enum status status = npy_create(&w, path, &like_four, err);
    npy_discard(&w);
    return status;
}

START_TEST(wrong_targets_are_refused)
{
    struct error err = {""};
    char name[400];
    keep_old();
    ck_assert_int_eq(symlink("out.npy", in("link.npy").text), 0);
    ASSERT_REFUSED(try_create(folder, &err), STATUS_USAGE, &err, folder, "is a directory");
    ASSERT_REFUSED(try_create(in("").text, &err), STATUS_USAGE, &err, folder, "is a directory");
    ASSERT_REFUSED(try_create("", &err), STATUS_USAGE, &err, "names no file");
    ASSERT_REFUSED(try_create(in("none/").text, &err), STATUS_USAGE, &err, "none/': names no file");
    ASSERT_REFUSED(try_create(in("none/x.npy").text, &err), STATUS_USAGE, &err, "none/x.npy",
                   "No such file or directory");
    ASSERT_REFUSED(try_create(in("out.npy/x.npy").text, &err), STATUS_USAGE, &err,
                   "out.npy/x.npy", "Not a directory");
    ASSERT_REFUSED(try_create("/dev/null", &err), STATUS_USAGE, &err, "/dev/null", "is a device");
    ASSERT_REFUSED(try_create(in("link.npy").text, &err), STATUS_USAGE, &err, "link.npy",
                   "is a symbolic link");
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    ASSERT_REFUSED(try_create(in(name).text, &err), STATUS_USAGE, &err, "too long");
    assert_old_kept();
}
END_TEST

START_TEST(a_forbidden_folder_is_refused)
{
    struct error err = {""};
    uid_t user = geteuid();
    ck_assert_int_eq(mkdir(in("closed").text, 0555), 0);
    ck_assert_int_eq(chmod(folder, 0755), 0);
    keep_old();
    ck_assert_int_eq(chmod(in("out.npy").text, 0444), 0);
    if (user == 0)
        ck_assert_int_eq(seteuid(65534), 0);
    enum status status = try_create(in("closed/x.npy").text, &err);
    if (user == 0)
        ck_assert_int_eq(seteuid(user), 0);
    ASSERT_REFUSED(status, STATUS_USAGE, &err, "closed/x.npy", "Permission denied");
    if (user != 0) /* access() asks for the real user, and root may write everywhere */
        ASSERT_REFUSED(try_create(in("out.npy").text, &err), STATUS_USAGE, &err, "out.npy",
                       "Permission denied");
    assert_old_kept();
    ck_assert_int_eq(unlink(in("out.npy").text), 0);
}
END_TEST

START_TEST(the_umask_holds)
{
    static const mode_t masks[] = {022, 027, 077, 0};
    for (int i = 0; i < COUNT(masks); i++) {
        struct npy_writer w;
        struct error err;
        struct stat info;
        mode_t before = umask(masks[i]);
        ck_assert_int_eq(npy_create(&w, in("mode.npy").text, &like_four, &err), STATUS_OK);
        ck_assert_int_eq(npy_append(&w, four, 4, &err), STATUS_OK);
        ck_assert_int_eq(npy_commit(&w, &err), STATUS_OK);
        umask(before);
        ck_assert_int_eq(stat(in("mode.npy").text, &info), 0);
        ck_assert_int_eq(info.st_mode & 0777, 0666 & ~masks[i]);
    }
}
END_TEST

START_TEST(a_folder_that_appeared_is_kept)
{
    struct npy_writer w;
    struct error err = {""};
    ck_assert_int_eq(npy_create(&w, in("late").text, &like_four, &err), STATUS_OK);
    ck_assert_int_eq(npy_append(&w, four, 4, &err), STATUS_OK);
    ck_assert_int_eq(mkdir(in("late").text, 0755), 0);
    ASSERT_REFUSED(npy_commit(&w, &err), STATUS_USAGE, &err, "late: cannot be written");
    ck_assert_int_eq(n_hidden_files(), 0);
    ck_assert_int_eq(rmdir(in("late").text), 0);
}
END_TEST

START_TEST(a_stale_temporary_is_not_ours)
{
    struct npy_writer w;
    struct error err = {""};
    char name[64], text[8];
    snprintf(name, sizeof name, ".npy-%ld-0.tmp", (long)getpid());
    write_file(name, "stale", 5);
    ck_assert_int_eq(npy_create(&w, in("out.npy").text, &like_four, &err), STATUS_OK);
    npy_discard(&w);
    ck_assert_int_eq(read_file(name, text, sizeof text), 5);
    unlink(in(name).text);
}
END_TEST

START_TEST(rank_numbers_stand_in_paths)
{
    static const struct {
        const char *pattern, *path;
        int rank;
    } cases[] = {
        {"in%r.npy", "in7.npy", 7},       {"%r", "0", 0},
        {"d%r/x%r%r", "d12/x1212", 12},   {"plain", "plain", 3},
        {"%d%%r%s%", "%d%5%s%", 5},       {"", "", 1},
        {"%r%r", "21474836472147483647", 2147483647},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        char *path = npy_path(cases[i].pattern, cases[i].rank);
        ck_assert_str_eq(path, cases[i].path);
        free(path);
    }
}
END_TEST

Suite *npy_suite(void)
{
    Suite *suite = suite_create("npy");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 60);
    tcase_add_unchecked_fixture(tests, open_folder, remove_folder);
    tcase_add_test(tests, good_headers_are_read);
    tcase_add_test(tests, every_type_and_odd_shapes);
    tcase_add_test(tests, any_part_is_read);
    tcase_add_test(tests, offsets_are_64_bits_wide);
    tcase_add_test(tests, bad_headers_are_refused);
    tcase_add_test(tests, foreign_files_are_refused);
    tcase_add_test(tests, every_cut_of_a_file_is_refused);
    tcase_add_test(tests, no_byte_does_harm);
    tcase_add_test(tests, a_long_header_is_refused);
    tcase_add_test(tests, paths_are_refused);
    tcase_add_test(tests, a_forbidden_file_is_refused);
    tcase_add_test(tests, a_changed_file_is_refused);
    tcase_add_test(tests, no_descriptor_stays_open);
    tcase_add_test(tests, shapes_are_shown);
    tcase_add_test(tests, a_file_is_written_byte_by_byte);
    tcase_add_test(tests, what_is_written_is_read);
    tcase_add_test(tests, bfloat16_is_not_written);
    tcase_add_test(tests, a_long_header_is_written);
    tcase_add_test(tests, a_discarded_file_leaves_nothing);
    tcase_add_test(tests, a_wrong_count_leaves_nothing);
    tcase_add_test(tests, a_commit_replaces_the_old_file);
    tcase_add_test(tests, a_full_disk_leaves_nothing);
    tcase_add_test(tests, wrong_targets_are_refused);
    tcase_add_test(tests, a_forbidden_folder_is_refused);
    tcase_add_test(tests, the_umask_holds);
    tcase_add_test(tests, a_folder_that_appeared_is_kept);
    tcase_add_test(tests, a_stale_temporary_is_not_ours);
    tcase_add_test(tests, rank_numbers_stand_in_paths);
    suite_add_tcase(suite, tests);
    return suite;
}
