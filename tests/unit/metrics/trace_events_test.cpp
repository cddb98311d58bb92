// The timeline of a run, as viewers of the Trace Event Format read it.
#include "metrics/trace_events.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace kvcap::trace_events_test {
namespace {

using Json = nlohmann::json;

std::vector<Json> of_kind(const Json& trace, const std::string& kind) {
  std::vector<Json> events;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == kind) events.push_back(event);
  }
  return events;
}

TEST(TraceEvents, WhatOverlapsOnAResourceGoesOnTracksOfItsOwn) {
  TraceEvents trace;
  trace.busy(Resource::gpu, 1, 0, 2);
  trace.busy(Resource::gpu, 0.5, 1, 3);  // beside the first
  trace.busy(Resource::gpu, 1, 2, 3);    // after it
  trace.busy(Resource::ssd_read, 1, 0, 1);
  const Json json = Json::parse(trace.json("run", {}));
  const std::vector<Json> slices = of_kind(json, "X");
  ASSERT_EQ(slices.size(), 4U);
  std::map<int, std::vector<std::pair<double, double>>> tracks;
  for (const Json& slice : slices) {
    const double begin_us = slice["ts"];
    tracks[slice["tid"]].push_back({begin_us, begin_us + slice["dur"].get<double>()});
  }
  EXPECT_EQ(tracks.size(), 3U);
  for (const auto& [track, spans] : tracks) {
    for (std::size_t i = 1; i < spans.size(); ++i) EXPECT_GE(spans[i].first, spans[i - 1].second) << track;
  }
  EXPECT_EQ(slices[0]["dur"], 2e6);                  // microseconds
  EXPECT_EQ(slices[0]["args"]["busy_percent"], 50);  // 1 s of 2
}

TEST(TraceEvents, ATurnIsDividedIntoWhatItWaitedFor) {
  const TurnRecord turn{.session = 3,
                        .turn = 1,
                        .arrival_s = 10,
                        .ttft_s = 1,  // 0.25 queue + 0.25 load + 0.125 restore + 0.375 prefill
                        .service_ttft_s = 0.75,
                        .e2el_s = 3,
                        .load_s = 0.25F,
                        .restore_compute_s = 0.125F};
  const Json json = Json::parse(TraceEvents().json("run", {turn}));
  std::map<std::string, double> begin_us, length_us;
  for (const Json& event : of_kind(json, "b")) begin_us[event["name"]] = event["ts"];
  for (const Json& event : of_kind(json, "e")) {
    length_us[event["name"]] = event["ts"].get<double>() - begin_us.at(event["name"]);
  }
  const std::map<std::string, double> expected = {{"session 3, turn 1", 3e6}, {"queue", 0.25e6},
                                                  {"load", 0.25e6},           {"restore compute", 0.125e6},
                                                  {"prefill", 0.375e6},       {"decode", 2e6}};
  EXPECT_EQ(length_us, expected);
  EXPECT_EQ(begin_us.at("queue"), 10e6);
  EXPECT_EQ(begin_us.at("decode"), 11e6);
}

TEST(TraceEvents, LevelsAreCountersThatSpeakWhenTheyChange) {
  TraceEvents trace;
  trace.level(Level::waiting, 1, 0.5);
  trace.level(Level::waiting, 1, 0.75);
  trace.level(Level::waiting, 0, 1);
  const std::vector<Json> counters = of_kind(Json::parse(trace.json("run", {})), "C");
  ASSERT_EQ(counters.size(), 2U);
  EXPECT_EQ(counters[0]["args"]["value"], 1);
  EXPECT_EQ(counters[1]["ts"], 1e6);
}

TEST(TraceEvents, ATitleCannotBreakOutOfItsString) {
  const std::string hostile = "\"},\"traceEvents\":[{}]//\n\xff";
  EXPECT_TRUE(Json::parse(TraceEvents().json(hostile, {}))["otherData"]["title"].is_string());
}

}  // namespace
}  // namespace kvcap::trace_events_test
