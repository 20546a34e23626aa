/* test_tools.c - small things of common/: quantities, options, files that appear whole, processors.
 */
#define _GNU_SOURCE /* for cpu_set_t and what goes with it */
#include "common/format.h"
#include "common/json.h"
#include "common/options.h"
#include "common/output.h"
#include "common/processors.h"
#include "tests/files.h"
#include "tests/suites.h"

#include <math.h>
#include <sched.h>
#include <stdarg.h>

START_TEST(bytes_are_never_rounded)
{
    static const struct { int64_t bytes; const char *text; } cases[] = {
        {0, "0 B"}, {1003, "1003 B"}, {1024, "1 KiB"}, {1336, "1336 B"}, {1536, "1.5 KiB"},
        {25ll << 20, "25 MiB"}, {(1ll << 40) + 1, "1099511627777 B"}, {5ll << 30, "5 GiB"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char buffer[FORMAT_SIZE];
        ck_assert_str_eq(format_bytes(cases[i].bytes, buffer), cases[i].text);
    }
}
END_TEST

START_TEST(json_numbers_read_back)
{
    static const double values[] = {0, -0.0, 1, 0.1, 1e300, -1.0 / 3, 16777217, 5e-324};
    char buffer[FORMAT_SIZE];
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        ck_assert_double_eq(strtod(format_json_number(values[i], buffer), NULL), values[i]);
    ck_assert_str_eq(format_json_number(0.1, buffer), "0.1");
    ck_assert_str_eq(format_json_number(20, buffer), "20");
    ck_assert_str_eq(format_json_number(-123456789012345, buffer), "-123456789012345");
    ck_assert_str_eq(format_json_number(NAN, buffer), "\"nan\"");
    ck_assert_str_eq(format_json_number(-INFINITY, buffer), "\"-inf\"");
}
END_TEST

START_TEST(json_strings_are_escaped)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(file);
    json_string(file, "a\"b\\c\n</script>\xc3\xa9\xff");
    json_us(file, "t_us", 1002003);
    json_number(file, "x", NAN);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_str_eq(text, "\"a\\\"b\\\\c\\u000a\\u003c/script>\xc3\xa9\\ufffd\",\"t_us\":1002.003,"
                           "\"x\":\"nan\"");
    free(text);
}
END_TEST

START_TEST(counts_with_suffixes)
{
    static const struct { const char *text; int good; int64_t value; } cases[] = {
        {"0", 1, 0}, {"12", 1, 12}, {"4K", 1, 4096}, {"3m", 1, 3 << 20}, {"5G", 1, 5ll << 30},
        {"", 0, 0}, {"K", 0, 0}, {"-1", 0, 0}, {"+1", 0, 0}, {" 1", 0, 0}, {"1 ", 0, 0},
        {"1KB", 0, 0}, {"1.5", 0, 0}, {"99999999999999999999", 0, 0}, {"9000000000G", 0, 0},
        {"0x10", 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t value = -7;
        ck_assert_msg(parse_count(cases[i].text, 0, INT64_MAX, 1, &value) == cases[i].good, "'%s'",
                      cases[i].text);
        ck_assert_int_eq(value, cases[i].good ? cases[i].value : -7);
    }
    int64_t value;
    ck_assert_int_eq(parse_count("4K", 0, INT64_MAX, 0, &value), 0);
    ck_assert_int_eq(parse_count("5", 6, 9, 0, &value), 0);
}
END_TEST

/* ---- options ---- */

struct got {
    int number, flag;
    const char *maybe;
    uint64_t given;
};

static enum status take_number(void *to, const char *text, struct error *err)
{
    if (text[0] == 'x')
        return (fail)(err, STATUS_USAGE, "--number x: no"); /* Check has a macro fail */
    ((struct got *)to)->number = atoi(text);
    return STATUS_OK;
}
static enum status take_flag(void *to, const char *text, struct error *err)
{
    (void)text, (void)err;
    ((struct got *)to)->flag++;
    return STATUS_OK;
}
static enum status take_maybe(void *to, const char *text, struct error *err)
{
    (void)err;
    ((struct got *)to)->maybe = text ? text : "(none)";
    return STATUS_OK;
}

static const struct option_row rows[] = {
    {'n', "number", "N", 3, "a number", take_number},
    {0, "maybe", "[=M]", 1, "an optional word,\ntold in so many words that they do not fit "
     "into one line", take_maybe},
    {'f', "flag", NULL, 2, "a flag", take_flag},
};

static enum status read_words(int command, struct got *got, int *operand, struct error *err, ...)
{
    char *argv[8] = {"prog"}, copy[8][32];
    int argc = 1;
    va_list words;
    va_start(words, err);
    for (const char *word; (word = va_arg(words, const char *)); argc++)
        argv[argc] = strcpy(copy[argc], word);
    va_end(words);
    *got = (struct got){0, 0, NULL, 0};
    return options_read(rows, 3, command, argc, argv, got, &got->given, operand, err);
}

START_TEST(options_are_read)
{
    struct got got;
    struct error err;
    int operand;
    ck_assert_int_eq(read_words(0, &got, &operand, &err, "-n3", "--maybe", "file", NULL), 0);
    ck_assert_int_eq(got.number, 3);
    ck_assert_str_eq(got.maybe, "(none)");
    ck_assert_int_eq(operand, 3);
    ck_assert_int_eq(read_words(0, &got, &operand, &err, "--number=4", "--maybe=text", NULL), 0);
    ck_assert_int_eq(got.number, 4);
    ck_assert_int_eq(read_words(1, &got, &operand, &err, "-fn", "5", "-f", NULL), 0);
    ck_assert_int_eq(got.number, 5);
    ck_assert_int_eq(got.flag, 2);
    ck_assert_uint_eq(got.given, 1 | 4);
    ck_assert_int_eq(options_allow(rows, 3, got.given, 2, "--that", &err), STATUS_OK);
    ASSERT_REFUSED(options_allow(rows, 3, got.given, 1, "--that", &err), STATUS_USAGE, &err,
                   "--flag with --that");
}
END_TEST

static enum status take_other(void *to, const char *text, struct error *err)
{
    (void)err;
    ((struct got *)to)->number = -atoi(text);
    return STATUS_OK;
}

/* Each command has its own -n, and its own beginnings of long names. */
START_TEST(a_letter_may_mean_two_things)
{
    static const struct option_row two[] = {
        {'n', "number", "N", 1, "a number", take_number},
        {'n', "nothing", "N", 2, "another", take_other},
    };
    for (int command = 0; command < 2; command++)
        for (int word = 0; word < 2; word++) {
            char prog[] = "prog", letter[] = "-n5", name[] = "--n=5";
            char *argv[] = {prog, word ? name : letter, NULL};
            struct got got = {0, 0, NULL, 0};
            struct error err = {""};
            int operand;
            ck_assert_int_eq(options_read(two, 2, command, 2, argv, &got, &got.given, &operand,
                                          &err), 0);
            ck_assert_uint_eq(got.given, command ? 2 : 1);
            ck_assert_int_eq(got.number, command ? -5 : 5);
        }
}
END_TEST

START_TEST(options_are_refused)
{
    struct got got;
    struct error err;
    int operand;
    ASSERT_REFUSED(read_words(0, &got, &operand, &err, "--what", NULL), STATUS_USAGE, &err,
                   "unknown option '--what'");
    ASSERT_REFUSED(read_words(0, &got, &operand, &err, "-q", NULL), STATUS_USAGE, &err, "-q");
    ASSERT_REFUSED(read_words(0, &got, &operand, &err, "--number", NULL), STATUS_USAGE, &err,
                   "--number needs an argument: --number N");
    ASSERT_REFUSED(read_words(0, &got, &operand, &err, "-n", NULL), STATUS_USAGE, &err,
                   "--number needs an argument");
    ASSERT_REFUSED(read_words(1, &got, &operand, &err, "--flag=3", NULL), STATUS_USAGE, &err,
                   "--flag takes no argument");
    ASSERT_REFUSED(read_words(0, &got, &operand, &err, "-f", NULL), STATUS_USAGE, &err,
                   "--flag is not an option of this command");
    ASSERT_REFUSED(read_words(0, &got, &operand, &err, "-nx", NULL), STATUS_USAGE, &err,
                   "--number x: no");
}
END_TEST

START_TEST(help_comes_from_the_same_table)
{
    char *text = NULL;
    size_t length;
    FILE *file = open_memstream(&text, &length);
    options_print(rows, 3, 0, file);
    fclose(file);
    ck_assert_str_eq(text, "  -n, --number N        a number\n"
                           "      --maybe[=M]       an optional word, told in so many words "
                           "that they do\n"
                           "                        not fit into one line\n");
    free(text);
}
END_TEST

/* ---- output ---- */

START_TEST(a_file_appears_whole)
{
    struct output output;
    struct error err;
    char text[32] = "";
    write_file("out", "old", 3);
    ck_assert_int_eq(output_open(&output, in("out").text, &err), STATUS_OK);
    fprintf(output.file, "new");
    ck_assert_int_eq(read_file("out", text, sizeof text), 3);
    ck_assert_str_eq(text, "old");
    ck_assert_int_eq(output_commit(&output, &err), STATUS_OK);
    read_file("out", text, sizeof text);
    ck_assert_str_eq(text, "new");
    output_discard(&output);
    ck_assert_int_eq(n_files(), 1);
    unlink(in("out").text);
}
END_TEST

START_TEST(a_file_given_up_leaves_nothing)
{
    struct output output;
    struct error err;
    ck_assert_int_eq(output_open(&output, in("out").text, &err), STATUS_OK);
    fprintf(output.file, "half");
    output_discard(&output);
    ck_assert_int_eq(n_files(), 0);
}
END_TEST

START_TEST(what_cannot_be_written_is_named)
{
    struct output output;
    struct error err;
    ASSERT_REFUSED(output_open(&output, in("no/such/file").text, &err), STATUS_USAGE, &err,
                   "no/such/file", "No such file");
    ASSERT_REFUSED(output_open(&output, folder, &err), STATUS_USAGE, &err, "irectory");
    ck_assert_int_eq(output_open(&output, "/dev/full", &err), STATUS_OK);
    fprintf(output.file, "lost");
    ASSERT_REFUSED(output_commit(&output, &err), STATUS_MACHINE, &err, "/dev/full", "No space");
    output_discard(&output);
    ck_assert_int_eq(output_open(&output, "/dev/null", &err), STATUS_OK);
    ck_assert_ptr_null(output.temporary);
    ck_assert_int_eq(output_commit(&output, &err), STATUS_OK);
}
END_TEST

#ifdef __linux__

static cpu_set_t allowed(void)
{
    cpu_set_t set;
    ck_assert_int_eq(sched_getaffinity(0, sizeof set, &set), 0);
    return set;
}

/* Twice round: on each processor, alone, as often as on any other; and then on any again. */
START_TEST(a_thread_goes_from_processor_to_processor)
{
    const cpu_set_t all = allowed();
    const int n = CPU_COUNT(&all);
    struct processors *p = processors_open();
    int times[CPU_SETSIZE] = {0};
    ck_assert_int_eq(p != NULL, n > 1);
    for (int i = 0; p && i < 2 * n; i++) {
        ck_assert(processors_next(p));
        const cpu_set_t one = allowed();
        ck_assert_int_eq(CPU_COUNT(&one), 1);
        ck_assert(CPU_ISSET(sched_getcpu(), &one));
        times[sched_getcpu()]++;
    }
    for (int i = 0; p && i < CPU_SETSIZE; i++)
        ck_assert_int_eq(times[i], CPU_ISSET(i, &all) ? 2 : 0);
    processors_close(p);
    const cpu_set_t again = allowed();
    ck_assert(CPU_EQUAL(&again, &all));
}
END_TEST

/* Where there is one alone, it stays. */
START_TEST(a_thread_of_one_processor_stays)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
    struct processors *p = processors_open();
    ck_assert_ptr_null(p);
    ck_assert(!processors_next(p));
    processors_close(p);
}
END_TEST

#endif

Suite *tools_suite(void)
{
    Suite *suite = suite_create("format, options, output, processors");
    TCase *tests = tcase_create("tools");
    tcase_add_test(tests, bytes_are_never_rounded);
    tcase_add_test(tests, json_numbers_read_back);
    tcase_add_test(tests, json_strings_are_escaped);
    tcase_add_test(tests, counts_with_suffixes);
    tcase_add_test(tests, options_are_read);
    tcase_add_test(tests, a_letter_may_mean_two_things);
    tcase_add_test(tests, options_are_refused);
    tcase_add_test(tests, help_comes_from_the_same_table);
#ifdef __linux__
    tcase_add_test(tests, a_thread_goes_from_processor_to_processor);
    tcase_add_test(tests, a_thread_of_one_processor_stays);
#endif
    suite_add_tcase(suite, tests);
    TCase *files = tcase_create("output");
    tcase_add_unchecked_fixture(files, open_folder, remove_folder);
    tcase_add_test(files, a_file_appears_whole);
    tcase_add_test(files, a_file_given_up_leaves_nothing);
    tcase_add_test(files, what_cannot_be_written_is_named);
    suite_add_tcase(suite, files);
    return suite;
}
