/* test_init.c - each form of --init and --input, and every stretch of data as pattern.h has it. */
#include <math.h>

#include "common/init.h"
#include "tests/files.h"
#include "tests/suites.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))
#define MOST 70000 /* elements: more than one block of copies */

static struct init parsed(const char *text, enum dtype dtype, int prod)
{
    struct init init;
    struct error err;
    ck_assert_msg(init_parse(&init, text, dtype, prod, &err) == STATUS_OK, "%s", err.text);
    return init;
}

/* --- parsing --- */

START_TEST(every_form_is_read)
{
    struct init init = parsed("index", DTYPE_INT32, 0);
    ck_assert_int_eq(init.dtype, DTYPE_INT32);
    ck_assert_int_eq(init_pattern(&init, 3).kind, PATTERN_INDEX);
    init = parsed("index", DTYPE_FLOAT32, 1);
    ck_assert_int_eq(init_pattern(&init, 3).kind, PATTERN_POWERS);
    init = parsed("rank", DTYPE_FLOAT32, 1);
    ck_assert_int_eq(init_pattern(&init, 3).kind, PATTERN_CONSTANT);
    ck_assert(init_pattern(&init, 3).constant == 3 && init_pattern(&init, 0).constant == 0);
    init = parsed("random:0", DTYPE_FLOAT32, 1);
    ck_assert_int_eq(init_pattern(&init, 3).kind, PATTERN_RANDOM);
    ck_assert(init_pattern(&init, 3).seed == 0);
    init = parsed("random:18446744073709551615", DTYPE_FLOAT32, 0);
    ck_assert(init_pattern(&init, 3).seed == UINT64_MAX);
    init = parsed("ones", DTYPE_INT32, 1);
    ck_assert_int_eq(init_pattern(&init, 3).kind, PATTERN_CONSTANT);
    ck_assert(init_pattern(&init, 3).constant == 1);
    init_free(&init);
    init_free(&init);
}
END_TEST

START_TEST(values_go_round)
{
    struct init init = parsed("values:1,-2.5,nan,inf,-inf,1e3,-0", DTYPE_FLOAT32, 0);
    ck_assert_int_eq(init.n_values, 7);
    ck_assert(init_pattern(&init, 0).constant == 1 && init_pattern(&init, 7).constant == 1);
    ck_assert(init_pattern(&init, 1).constant == -2.5 && init_pattern(&init, 15).constant == -2.5);
    ck_assert(isnan(init_pattern(&init, 2).constant));
    ck_assert(init_pattern(&init, 3).constant == INFINITY);
    ck_assert(init_pattern(&init, 4).constant == -INFINITY);
    ck_assert(init_pattern(&init, 5).constant == 1000);
    ck_assert(signbit(init_pattern(&init, 6).constant));
    init_free(&init);
    init = parsed("values:0.1", DTYPE_FLOAT32, 0);
    ck_assert(init_pattern(&init, 0).constant == (double)0.1f);
    init_free(&init);
    init = parsed("values:0.1", DTYPE_FLOAT64, 0);
    ck_assert(init_pattern(&init, 0).constant == 0.1);
    init_free(&init);
    init = parsed("values:257,0.1", DTYPE_BFLOAT16, 0);
    ck_assert(init_pattern(&init, 0).constant == 256);
    ck_assert(init_pattern(&init, 1).constant == 0x1.9ap-4);
    init_free(&init);
    init = parsed("values:2147483647,-2147483648,5.0", DTYPE_INT32, 0);
    ck_assert(init_pattern(&init, 1).constant == -2147483648.0);
    init_free(&init);
}
END_TEST

static const struct {
    const char *text;
    enum dtype dtype;
    const char *texts[3];
} bad[] = {
    {"", DTYPE_FLOAT32, {"--init", "no such data"}},
    {"zeros", DTYPE_FLOAT32, {"zeros", "index, rank, ones, random:SEED, values:a,b,.."}},
    {"Index", DTYPE_FLOAT32, {"no such data"}},
    {"inde", DTYPE_FLOAT32, {"no such data"}},
    {"in\ndex", DTYPE_FLOAT32, {"in\\x0adex"}},
    {":1", DTYPE_FLOAT32, {"no such data"}},
    {"index:3", DTYPE_FLOAT32, {"--init index:3", "written index"}},
    {"ones:", DTYPE_FLOAT32, {"written ones"}},
    {"random", DTYPE_FLOAT32, {"written random:SEED"}},
    {"values", DTYPE_FLOAT32, {"written values:a,b,.."}},
    {"random:", DTYPE_FLOAT32, {"--init random:", "whole number", "random:1"}},
    {"random:x", DTYPE_FLOAT32, {"--init random:x", "whole number", "random:1"}},
    {"random:1x", DTYPE_FLOAT32, {"whole number"}},
    {"random:-1", DTYPE_FLOAT32, {"whole number from 0 to 18446744073709551615"}},
    {"random:+1", DTYPE_FLOAT32, {"whole number"}},
    {"random: 1", DTYPE_FLOAT32, {"whole number"}},
    {"random:1.0", DTYPE_FLOAT32, {"whole number"}},
    {"random:18446744073709551616", DTYPE_FLOAT32, {"18446744073709551615"}},
    {"random:99999999999999999999999", DTYPE_FLOAT32, {"18446744073709551615"}},
    {"values:", DTYPE_FLOAT32, {"entry 1, '', is not a number"}},
    {"values:1,", DTYPE_FLOAT32, {"entry 2, '', is not a number"}},
    {"values:,1", DTYPE_FLOAT32, {"entry 1, '', is not a number"}},
    {"values:1,,2", DTYPE_FLOAT32, {"entry 2, '', is not a number"}},
    {"values:1,2x,3", DTYPE_FLOAT32, {"entry 2, '2x', is not a number"}},
    {"values:1, 2", DTYPE_FLOAT32, {"entry 2, ' 2', is not a number"}},
    {"values:1 ,2", DTYPE_FLOAT32, {"entry 1, '1 ', is not a number"}},
    {"values:1,two", DTYPE_FLOAT32, {"entry 2, 'two', is not a number"}},
    {"values:-", DTYPE_FLOAT32, {"entry 1, '-', is not a number"}},
    {"values:1\x1b", DTYPE_FLOAT32, {"'1\\x1b'"}},
    {"values:1,0.5", DTYPE_INT32, {"entry 2, '0.5', is no whole number, as needed for int32"}},
    {"values:nan", DTYPE_INT32, {"'nan', is no whole number"}},
    {"values:1,-inf", DTYPE_INT32, {"'-inf', is no whole number"}},
    {"values:2147483648", DTYPE_INT32, {"'2147483648', is too large for int32"}},
    {"values:-2147483649", DTYPE_INT32, {"is too large for int32"}},
    {"values:1e40", DTYPE_FLOAT32, {"entry 1, '1e40', is too large for float32"}},
    {"values:1,-1e40", DTYPE_FLOAT32, {"entry 2, '-1e40', is too large for float32"}},
    {"values:1e400", DTYPE_FLOAT64, {"'1e400', is too large for float64"}},
    {"values:1e400", DTYPE_FLOAT32, {"'1e400', is too large for float32"}},
    {"values:1e-60", DTYPE_FLOAT32, {"'1e-60', is too small for float32"}},
    {"values:65520", DTYPE_FLOAT16, {"entry 1, '65520', is too large for float16"}},
    {"values:2,1e-8", DTYPE_FLOAT16, {"entry 2, '1e-8', is too small for float16"}},
    {"values:3.4e38", DTYPE_BFLOAT16, {"'3.4e38', is too large for bfloat16"}},
    {"values:1e-400", DTYPE_FLOAT64, {"'1e-400', is too small for float64"}},
};

START_TEST(bad_texts_are_refused)
{
    for (int i = 0; i < COUNT(bad); i++) {
        struct init init;
        struct error err = {""};
        const char *const *t = bad[i].texts;
        enum status status = init_parse(&init, bad[i].text, bad[i].dtype, 0, &err);
        ASSERT_REFUSED(status, STATUS_USAGE, &err, t[0], t[1], t[2]);
        ck_assert_ptr_null(init.values);
        init_free(&init);
    }
}
END_TEST

START_TEST(values_have_a_limit)
{
    char text[2 * INIT_MAX_VALUES + 16] = "values:0";
    struct init init;
    struct error err = {""};
    for (int i = 1; i < INIT_MAX_VALUES; i++)
        strcpy(text + 6 + 2 * i, ",7");
    init = parsed(text, DTYPE_INT32, 0);
    ck_assert_int_eq(init.n_values, INIT_MAX_VALUES);
    ck_assert(init_pattern(&init, INIT_MAX_VALUES - 1).constant == 7);
    init_free(&init);
    strcat(text, ",7");
    ASSERT_REFUSED(init_parse(&init, text, DTYPE_INT32, 0, &err), STATUS_USAGE, &err,
                   "4097 values", "at most 4096");
}
END_TEST

/* --- filling --- */

/* What pattern.h says element by element, as the type holds it. */
static void expected_element(const struct init *init, int rank, int iteration, int64_t element,
                             void *out)
{
    double v = pattern_value(init_pattern(init, rank), init->dtype, rank, iteration, element);
    if (!dtype_store(init->dtype, v, out))
        ck_abort_msg("%g has no place in %s", v, dtype_name(init->dtype));
    if (v != v)
        memcpy(out, "\xff\xff\xff\xff\xff\xff\xff", dtype_size(init->dtype) - 1);
    if (v != v)
        ((unsigned char *)out)[dtype_size(init->dtype) - 1] = 0x7f;
}

static void check_fill(const struct init *init, int rank, int iteration, int64_t first,
                       int64_t count)
{
    static double memory[MOST + 1];
    struct error err;
    unsigned char *out = (unsigned char *)memory, want[8];
    size_t size = dtype_size(init->dtype);
    memset(memory, 0xa5, sizeof memory);
    ck_assert_int_eq(init_fill(init, rank, iteration, first, count, out, &err), STATUS_OK);
    for (int64_t i = 0; i < count; i++) {
        expected_element(init, rank, iteration, first + i, want);
        if (memcmp(out + (size_t)i * size, want, size) != 0) /* an assertion costs a write */
            ck_abort_msg("%s, rank %d, iteration %d, element %lld + %lld of %lld",
                         dtype_name(init->dtype), rank, iteration, (long long)first, (long long)i,
                         (long long)count);
    }
    for (size_t i = 0; i < size; i++)
        ck_assert_int_eq(out[(size_t)count * size + i], 0xa5);
}

START_TEST(every_stretch_is_the_pattern)
{
    static const char *const texts[] = {"index", "rank", "ones", "random:7", "values:5,-7,11"};
    static const int64_t counts[] = {0, 1, 250, 251, 252, 502, 503, 2000, MOST};
    static const int64_t firsts[] = {0, 1, 250, 251, 1000, INT64_C(5000000000)};
    for (int k = 0; k < COUNT(texts) * N_DTYPES * 2; k++) {
        struct init init = parsed(texts[k % COUNT(texts)],
                                  (enum dtype)(k / COUNT(texts) % N_DTYPES),
                                  k / COUNT(texts) / N_DTYPES);
        for (int c = 0; c < COUNT(counts); c++)
            check_fill(&init, (k + c) % 7, c % 3, firsts[(k + c) % COUNT(firsts)], counts[c]);
        init_free(&init);
    }
}
END_TEST

START_TEST(special_values_are_canonical)
{
    for (int t = 0; t < N_DTYPES; t++) {
        if (!dtype_is_float((enum dtype)t))
            continue;
        struct init init = parsed("values:nan,-nan,inf,-inf,-0", (enum dtype)t, 0);
        for (int rank = 0; rank < 6; rank++)
            check_fill(&init, rank, 1, 3, 300);
        init_free(&init);
    }
}
END_TEST

/* --- files --- */

#define DICT(descr, shape) "{'descr': '" descr "', 'fortran_order': False, 'shape': " shape "}"

static void write_rank(const char *name, float base)
{
    float data[6];
    for (int i = 0; i < 6; i++)
        data[i] = base + (float)i;
    write_npy(name, 1, DICT("<f4", "(2, 3)"), data, sizeof data);
}

START_TEST(files_are_found_and_read)
{
    struct init init;
    struct error err = {""};
    float out[3];
    write_rank("f0.npy", 10);
    write_rank("f1.npy", 20);
    write_rank("f2.npy", 30);
    write_rank("f4.npy", 50); /* beyond the gap */
    for (int n_ranks = 0; n_ranks <= 3; n_ranks++) {
        ck_assert_msg(init_open_files(&init, in("f%r.npy").text, n_ranks, &err) == STATUS_OK, "%s",
                      err.text);
        ck_assert_int_eq(init.n_files, n_ranks ? n_ranks : 3);
        ck_assert_int_eq(init.dtype, DTYPE_FLOAT32);
        ck_assert_int_eq(init.files[0].count, 6);
        for (int rank = 0; rank < init.n_files; rank++) {
            ck_assert_int_eq(init_fill(&init, rank, 5, 2, 3, out, &err), STATUS_OK);
            ck_assert(out[0] == 10 * (float)rank + 12 && out[2] == 10 * (float)rank + 14);
        }
        ASSERT_REFUSED(init_fill(&init, init.n_files, 0, 0, 1, out, &err), STATUS_MACHINE, &err,
                       "no input file for rank");
        ASSERT_REFUSED(init_fill(&init, 0, 0, 5, 2, out, &err), STATUS_MACHINE, &err, "f0.npy");
        init_free(&init);
    }
}
END_TEST

static void refuse_files(const char *pattern, int n_ranks, const char *a, const char *b)
{
    struct init init;
    struct error err = {""};
    enum status status = init_open_files(&init, in(pattern).text, n_ranks, &err);
    ASSERT_REFUSED(status, STATUS_USAGE, &err, a, b);
    ck_assert_ptr_null(init.files);
    init_free(&init);
}

START_TEST(missing_and_bad_files_are_named)
{
    write_rank("m0.npy", 1);
    write_rank("m1.npy", 2);
    refuse_files("m%r.npy", 3, "m2.npy", "No such file");
    refuse_files("none%r.npy", 0, "none0.npy", "No such file");
    refuse_files("none%r.npy", 2, "none0.npy", "No such file");
    refuse_files("none.npy", 0, "none.npy", "No such file");
    refuse_files("nofolder%r/x.npy", 0, "nofolder0/x.npy", "No such file");
    write_file("m2.npy", "junk", 4);
    refuse_files("m%r.npy", 0, "m2.npy", "not a .npy file"); /* there, so not passed over */
    ck_assert_int_eq(unlink(in("m2.npy").text), 0);
    ck_assert_int_eq(symlink("nowhere", in("m2.npy").text), 0);
    refuse_files("m%r.npy", 0, "m2.npy", "No such file");
    ck_assert_int_eq(unlink(in("m2.npy").text), 0);
    ck_assert_int_eq(mkdir(in("m2.npy").text, 0755), 0);
    refuse_files("m%r.npy", 0, "m2.npy", "is a directory");
}
END_TEST

START_TEST(one_file_is_for_one_rank)
{
    struct init init;
    struct error err = {""};
    write_rank("one.npy", 1);
    refuse_files("one.npy", 2, "one.npy", "%r");
    for (int n_ranks = 0; n_ranks <= 1; n_ranks++) {
        ck_assert_int_eq(init_open_files(&init, in("one.npy").text, n_ranks, &err), STATUS_OK);
        ck_assert_int_eq(init.n_files, 1);
        init_free(&init);
    }
}
END_TEST

START_TEST(all_files_have_one_form)
{
    static const float zeros[8];
    write_npy("s0.npy", 1, DICT("<f4", "(2, 3)"), zeros, 24);
    write_npy("s1.npy", 1, DICT("<f4", "(3, 2)"), zeros, 24);
    refuse_files("s%r.npy", 0, "s1.npy holds float32 of shape (3, 2)",
                 "s0.npy holds float32 of shape (2, 3)");
    write_npy("s1.npy", 2, DICT("<i4", "(2, 3)"), zeros, 24);
    refuse_files("s%r.npy", 2, "s1.npy holds int32 of shape (2, 3)",
                 "s0.npy holds float32 of shape (2, 3)");
    write_npy("s1.npy", 1, DICT("<f4", "(6,)"), zeros, 24);
    refuse_files("s%r.npy", 2, "s1.npy holds float32 of shape (6,)", "(2, 3)");
    write_npy("s1.npy", 1, DICT("<f4", "()"), zeros, 4);
    refuse_files("s%r.npy", 2, "s1.npy holds float32 of shape ()", "(2, 3)");
}
END_TEST

START_TEST(many_files_are_no_matter)
{
    enum { MANY = 1100 };
    struct init init;
    struct error err = {""};
    float out;
    for (int i = 0; i < MANY; i++) {
        char name[32];
        snprintf(name, sizeof name, "many%d.npy", i);
        write_rank(name, (float)i);
    }
    ck_assert_msg(init_open_files(&init, in("many%r.npy").text, 0, &err) == STATUS_OK, "%s",
                  err.text);
    ck_assert_int_eq(init.n_files, MANY);
    for (int i = 0; i < MANY; i++) {
        ck_assert_int_eq(init_fill(&init, i, 0, 5, 1, &out, &err), STATUS_OK);
        ck_assert(out == (float)i + 5);
    }
    init_free(&init);
}
END_TEST

Suite *init_suite(void)
{
    Suite *suite = suite_create("init");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 60);
    tcase_add_unchecked_fixture(tests, open_folder, remove_folder);
    tcase_add_test(tests, every_form_is_read);
    tcase_add_test(tests, values_go_round);
    tcase_add_test(tests, bad_texts_are_refused);
    tcase_add_test(tests, values_have_a_limit);
    tcase_add_test(tests, every_stretch_is_the_pattern);
    tcase_add_test(tests, special_values_are_canonical);
    tcase_add_test(tests, files_are_found_and_read);
    tcase_add_test(tests, missing_and_bad_files_are_named);
    tcase_add_test(tests, one_file_is_for_one_rank);
    tcase_add_test(tests, all_files_have_one_form);
    tcase_add_test(tests, many_files_are_no_matter);
    suite_add_tcase(suite, tests);
    return suite;
}
