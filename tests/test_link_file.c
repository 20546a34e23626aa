/* test_link_file.c - a link's file: what is written is read back, and what is wrong is named. */
#include "common/link_file.h" /* first: check.h defines a macro `fail` */

#include "tests/files.h"
#include "tests/suites.h"

#define HEAD "# a comment\n\nlink 1\n"
#define REST                                                                                       \
    "copy_rate 392 GB/s\nkernel_latency 2000 ns\nmemory_rate 4.8e3 GB/s # of one GPU\n"            \
    "queue_copy 0 ns\nqueue_kernel 1 ns\nqueue_record 2 ns\nqueue_wait 3 ns\n"                     \
    "wait_latency 4 ns\r\ngraph_launch 5 ns\n  graph_edge\t6 ns\nqueue_graph 7 ns\n"               \
    "graph_wait 8 ns\nadd_takes 9 %"

static void put_file(const char *text, size_t length)
{
    FILE *file = fopen(in("a.link").text, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(text, 1, length, file), length);
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(a_file_is_read)
{
    struct device_model model;
    struct error err = {""};
    put_file(HEAD "copy_latency 2400 ns\n" REST, strlen(HEAD "copy_latency 2400 ns\n" REST));
    ck_assert_msg(link_file_read(&model, in("a.link").text, &err) == STATUS_OK, "%s", err.text);
    ck_assert_ptr_nonnull(strstr(model.name, "a.link"));
    ck_assert_int_eq(model.link_latency_ns, 2400);
    ck_assert_double_eq(model.link_GBps, 392);
    ck_assert_int_eq(model.kernel_latency_ns, 2000);
    ck_assert_double_eq(model.memory_GBps, 4800);
    const int64_t rest[] = {model.queue_copy_ns, model.queue_kernel_ns, model.queue_record_ns,
                            model.queue_wait_ns, model.wait_ns, model.graph_launch_ns,
                            model.graph_edge_ns, model.queue_graph_ns, model.graph_wait_ns,
                            model.add_takes_percent};
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(rest[i], i);
    ck_assert_double_eq(model.slow_times, 0);
}
END_TEST

/* A file from before queue_graph and what follows were numbers. */
START_TEST(an_older_file_is_read)
{
    const char *text = HEAD "copy_latency 2400 ns\n" REST;
    struct device_model model;
    struct error err = {""};
    put_file(text, (size_t)(strstr(text, "\nqueue_graph") - text));
    ck_assert_msg(link_file_read(&model, in("a.link").text, &err) == STATUS_OK, "%s", err.text);
    ck_assert_int_eq(model.graph_edge_ns, 6);
    ck_assert_int_eq(model.queue_graph_ns, 0);
    ck_assert_int_eq(model.graph_wait_ns, 0);
    ck_assert_int_eq(model.add_takes_percent, 0);
}
END_TEST

START_TEST(what_is_written_is_read_back)
{
    struct device_model model, back;
    struct error err = {""};
    memset(&model, 0, sizeof model);
    model = (struct device_model){.name = "", .link_latency_ns = 1, .link_GBps = 123.456789,
                                  .kernel_latency_ns = 2, .memory_GBps = 1.0 / 3,
                                  .queue_copy_ns = 3, .queue_kernel_ns = 4, .queue_record_ns = 5,
                                  .queue_wait_ns = 6, .wait_ns = 7, .graph_launch_ns = 8,
                                  .queue_graph_ns = 9, .graph_edge_ns = LINK_MAX_NS,
                                  .graph_wait_ns = 10,
                                  .add_takes_percent = LINK_MAX_PERCENT};
    link_file_round(&model);
    ck_assert_double_eq(model.link_GBps, 123.5);
    FILE *file = fopen(in("b.link").text, "w");
    link_file_write(&model, file);
    fclose(file);
    ck_assert_msg(link_file_read(&back, in("b.link").text, &err) == STATUS_OK, "%s", err.text);
    memcpy(back.name, model.name, sizeof back.name);
    ck_assert_mem_eq(&back, &model, sizeof model);
}
END_TEST

static const struct {
    const char *text, *says;
} wrong[] = {
    {"", "a.link: is empty"},
    {"# link 1\n", "a.link: is empty"},
    {"copy_latency 1 ns\n", "a.link:1: 'copy_latency': the first line"},
    {"link\n", ":1: 'link': the first line"},
    {"link 1 2\n", ":1: 'link': the first line"},
    {"\nlink 2\n", ":2: link 2: version 1 is wanted"},
    {HEAD REST, ":16: the file ends without copy_latency"},
    {HEAD REST "\ncopy_latency 1 ns\nlink 1\n", ":18: 'link' is no number of a link"},
    {HEAD "copy_latency 1 ns\ncopy_latency 1 ns\n", ":5: copy_latency stands in line 4 already"},
    {HEAD "copy_latency 1\n", ":4: copy_latency: one number and the unit ns are wanted"},
    {HEAD "copy_latency 1 us\n", "the unit ns are wanted"},
    {HEAD "copy_latency 1 ns x\n", "the unit ns are wanted"},
    {HEAD "copy_rate 1 ns\n", "the unit GB/s are wanted"},
    {HEAD "copy_latency 1.5 ns\n", ":4: copy_latency 1.5: a whole number from 0 to 1000000000"},
    {HEAD "copy_latency -1 ns\n", "a whole number"},
    {HEAD "copy_latency 1000000001 ns\n", "a whole number"},
    {HEAD "add_takes 10001 %\n", ":4: add_takes 10001: a whole number from 0 to 10000 is wanted"},
    {HEAD "add_takes 1 ns\n", ":4: add_takes: one number and the unit % are wanted"},
    {HEAD "copy_rate 0 GB/s\n", ":4: copy_rate 0: a number from 1e-6 to 1e6 is wanted"},
    {HEAD "copy_rate nan GB/s\n", "a number from"},
    {HEAD "copy_rate 1e GB/s\n", "a number from"},
    {HEAD "copy_rate 0x10 GB/s\n", "a number from"},
    {HEAD "speed 1 GB/s\n", ":4: 'speed' is no number of a link; copy_latency, for one, is"},
};
#define N_WRONG (int)(sizeof wrong / sizeof *wrong)

static void assert_unread(const char *text, size_t length, const char *says)
{
    struct device_model model;
    struct error err = {""};
    put_file(text, length);
    ck_assert_msg(link_file_read(&model, in("a.link").text, &err) == STATUS_USAGE, "'%s'", text);
    ck_assert_msg(strstr(err.text, says) != NULL, "'%s' in: %s", says, err.text);
}

START_TEST(what_is_wrong_is_named)
{
    assert_unread(wrong[_i].text, strlen(wrong[_i].text), wrong[_i].says);
}
END_TEST

START_TEST(what_is_no_such_file_is_refused)
{
    static char large[100000];
    struct device_model model;
    struct error err = {""};
    memset(large, '\n', sizeof large);
    assert_unread(large, sizeof large, "is too large");
    assert_unread("link 1\n\0", 8, "is no text");
    memset(large, 'x', 300);
    assert_unread(large, 400, ":1: the line is longer than 255 bytes");
    ck_assert_int_eq(link_file_read(&model, in("none.link").text, &err), STATUS_USAGE);
    ck_assert_ptr_nonnull(strstr(err.text, "none.link: cannot be read: No such file"));
    ck_assert_int_eq(link_file_read(&model, folder, &err), STATUS_USAGE);
    ck_assert_ptr_nonnull(strstr(err.text, "cannot be read: Is a directory"));
}
END_TEST

START_TEST(files_are_told_from_rates)
{
    static const char *const files[] = {"a.link", "./a", "a/b", "x.5:2", "1.link"};
    static const char *const others[] = {"25:1.5", "1e-3:.5", "nvlink9", "", ":", "1.5:"};
    for (int i = 0; i < 5; i++)
        ck_assert_msg(link_file_is_meant(files[i]), "%s", files[i]);
    for (int i = 0; i < 6; i++)
        ck_assert_msg(!link_file_is_meant(others[i]), "%s", others[i]);
    put_file("", 0);
    ck_assert_int_eq(chdir(folder), 0);
    ck_assert_int_eq(rename("a.link", "plain"), 0);
    ck_assert(link_file_is_meant("plain"));
}
END_TEST

START_TEST(a_long_name_keeps_its_end)
{
    struct device_model model;
    char path[301];
    memset(path, 'a', 300);
    memcpy(path + 295, ".link", 6);
    link_file_name(&model, path);
    ck_assert_uint_eq(strlen(model.name), sizeof model.name - 1);
    ck_assert_ptr_nonnull(strstr(model.name, "aaa.link"));
    ck_assert_int_eq(strncmp(model.name, "...a", 4), 0);
    link_file_name(&model, path + 237);
    ck_assert_str_eq(model.name, path + 237);
}
END_TEST

Suite *link_file_suite(void)
{
    Suite *suite = suite_create("link file");
    TCase *tests = tcase_create("link file");
    tcase_add_unchecked_fixture(tests, open_folder, remove_folder);
    tcase_add_test(tests, a_file_is_read);
    tcase_add_test(tests, an_older_file_is_read);
    tcase_add_test(tests, what_is_written_is_read_back);
    tcase_add_loop_test(tests, what_is_wrong_is_named, 0, N_WRONG);
    tcase_add_test(tests, what_is_no_such_file_is_refused);
    tcase_add_test(tests, files_are_told_from_rates);
    tcase_add_test(tests, a_long_name_keeps_its_end);
    suite_add_tcase(suite, tests);
    return suite;
}
