// All errors of a form at once, beside their inputs and in their words.
#include "serve/checks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace kvcap::serve_checks_test {
namespace {

using Words = std::vector<std::string>;

bool has(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// A program that refuses one option at a time, as kvcap does.
Tried refuse_in_turn(const Words& words) {
  if (has(words, "--gpu")) return {.error = "--gpu h10: found \"h10\", allowed: a100, --model or a path"};
  if (has(words, "slo.ttft_ms=-5")) return {.error = "--set slo.ttft_ms=-5: found -5, allowed: a number"};
  if (has(words, "bad.csv")) return {.error = "bad.csv:3: input_tokens: found -1, allowed: a number"};
  return {.output = "{}"};
}

TEST(FormChecks, FindEveryErrorAtOnce) {
  const CheckedForm form = check_form(
      R"({"policies": ["hcache"], "gpu": "h10", "slo.ttft_ms": "-5", "workload": "bad.csv", "rate": "2"})",
      {}, refuse_in_turn);
  EXPECT_EQ(form.command,
            "kvcap compare --gpu h10 --workload bad.csv --rate 2 --policies hcache --set slo.ttft_ms=-5");
  ASSERT_EQ(form.errors.size(), 3U);
  EXPECT_EQ(form.errors[0].input, "gpu");
  EXPECT_EQ(form.errors[0].text, "found \"h10\", allowed: a100, \"Model\" or a path");
  EXPECT_EQ(form.errors[1].input, "slo.ttft_ms");
  EXPECT_EQ(form.errors[1].text, "found -5, allowed: a number");
  // A row of a file is named; the file is the answer of an input.
  EXPECT_EQ(form.errors[2].input, "workload");
  EXPECT_EQ(form.errors[2].text, "bad.csv:3: input_tokens: found -1, allowed: a number");
  EXPECT_EQ(form.would_run, "");
}

TEST(FormChecks, OfAFormWithoutErrorsAnswerWhatWouldRun) {
  const CheckedForm form = check_form(R"({"policies": ["hcache"]})", {}, refuse_in_turn);
  EXPECT_EQ(form.command, "kvcap compare --policies hcache");
  EXPECT_EQ(form.would_run, "{}");
  EXPECT_TRUE(form.errors.empty());
}

TEST(FormChecks, FindErrorsBesideAnswersThatMakeNoCommand) {
  const CheckedForm form = check_form(R"({"policies": [], "gpu": "h10", "rate": "-3"})", {}, refuse_in_turn);
  EXPECT_EQ(form.command, "");
  ASSERT_EQ(form.errors.size(), 3U);
  EXPECT_EQ(form.errors[0].input, "rate");
  EXPECT_EQ(form.errors[0].text, "found \"-3\", allowed: a value without a leading \"-\"");
  EXPECT_EQ(form.errors[1].input, "policies");
  EXPECT_EQ(form.errors[1].text, "found none, allowed: at least one");
  EXPECT_EQ(form.errors[2].input, "gpu");
}

// An error of what was left out, and one of no input, end the search.
TEST(FormChecks, DoNotReportWhatFollowsFromAnErrorOfTheForm) {
  const auto needs_gpu = [](const Words& words) -> Tried {
    if (has(words, "h10")) return {.error = "--gpu h10: found \"h10\", allowed: a100"};
    if (!has(words, "--gpu")) return {.error = "found no scenario file and no --gpu, allowed: a file"};
    return {};
  };
  const CheckedForm form = check_form(R"({"policies": ["hcache"], "gpu": "h10"})", {}, needs_gpu);
  ASSERT_EQ(form.errors.size(), 1U);
  const CheckedForm whole = check_form(R"({"policies": ["hcache"]})", {},
                                       [](const Words&) { return Tried{.error = "the model does not fit"}; });
  ASSERT_EQ(whole.errors.size(), 1U);
  EXPECT_EQ(whole.errors[0].input, "");
}

}  // namespace
}  // namespace kvcap::serve_checks_test
