#include "observe/prometheus.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "base/input_error.h"

namespace kvcap::prometheus_test {
namespace {

MetricSample only(const std::string& text) {
  const auto samples = parse_metrics(text, "page");
  EXPECT_EQ(samples.size(), 1U) << text;
  return samples.at(0);
}

std::string refusal_of(const std::string& text) {
  try {
    parse_metrics(text, "page");
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Prometheus, ASampleHasANameLabelsAndANumber) {
  const MetricSample one = only("vllm:tokens_total{engine=\"0\", model_name=\"a/b\",} 1.5e+03\n");
  EXPECT_EQ(one.name, "vllm:tokens_total");
  EXPECT_EQ(one.label("engine"), "0");
  EXPECT_EQ(one.label("model_name"), "a/b");
  EXPECT_EQ(one.label("le"), "");
  EXPECT_EQ(one.value, 1500);
  EXPECT_FALSE(one.unix_s);
  EXPECT_EQ(only("up 1").value, 1);
}

TEST(Prometheus, CommentsAndEmptyLinesAreNoSamples) {
  EXPECT_EQ(parse_metrics("# HELP up Is it.\n# TYPE up gauge\n\n   \r\nup 1\r\n# other\n", "page").size(),
            1U);
  EXPECT_TRUE(parse_metrics("", "page").empty());
}

TEST(Prometheus, LabelsHaveEscapes) {
  EXPECT_EQ(only(R"(a{b="x\"y\\z\nw"} 0)").label("b"), "x\"y\\z\nw");
  EXPECT_EQ(only(R"(a{b="{,}=# "} 0)").label("b"), "{,}=# ");
}

TEST(Prometheus, NumbersMayBeInfiniteOrNone) {
  EXPECT_TRUE(std::isnan(only("a NaN").value));
  EXPECT_EQ(only("a +Inf").value, INFINITY);
  EXPECT_EQ(only("a -Inf").value, -INFINITY);
  EXPECT_EQ(only("a +3").value, 3);
}

// Prometheus counts milliseconds, OpenMetrics, which ends with # EOF, seconds.
TEST(Prometheus, TimestampsAreOfTheirFormat) {
  EXPECT_DOUBLE_EQ(*only("a 1 1700000000250").unix_s, 1700000000.25);
  EXPECT_DOUBLE_EQ(*only("a 1 1700000000.25\n# EOF\n").unix_s, 1700000000.25);
  EXPECT_FALSE(only("a 1 # {trace=\"x\"} 1 1700000000.25\n# EOF\n").unix_s);
}

TEST(Prometheus, WhatIsNoSampleIsRefusedWithItsLine) {
  const std::string allowed = ", as in NAME{LABEL=\"VALUE\"} NUMBER [TIMESTAMP]";
  EXPECT_EQ(refusal_of("up 1\n<html>\n"), "page:2: found \"<html>\", allowed: a metric's name" + allowed);
  EXPECT_EQ(refusal_of("up one"), "page:1: found \"up one\", allowed: a number" + allowed);
  EXPECT_EQ(refusal_of("up"), "page:1: found \"up\", allowed: a number" + allowed);
  EXPECT_EQ(refusal_of("up 1 2 3"),
            "page:1: found \"up 1 2 3\", allowed: nothing after the timestamp" + allowed);
  EXPECT_NE(refusal_of("up{a=\"1} 1").find("a closing quote"), std::string::npos);
  EXPECT_NE(refusal_of("up{a=1} 1").find("a label's value in quotes"), std::string::npos);
  EXPECT_NE(refusal_of("up{a=\"1\" b=\"2\"} 1").find(", or } after a label"), std::string::npos);
  EXPECT_NE(refusal_of("up{a=\"1\"").find(", or } after a label"), std::string::npos);
}

}  // namespace
}  // namespace kvcap::prometheus_test
