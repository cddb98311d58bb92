#include "workload/workload.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/input_error.h"
#include "unit/shared_data.h"

namespace kvcap::workload_test {
namespace {

namespace fs = std::filesystem;

// A file in a folder of its own that goes with the test.
class SessionFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("kvcap_workload_" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  WorkloadOptions holding(const std::string& text) {
    const fs::path path = folder_ / "t.jsonl";
    std::ofstream(path, std::ios::binary) << text;
    WorkloadOptions options;
    options.source.kind = "sessions";
    options.source.path = path.string();
    return options;
  }
  // The message without the folder, or "" when the file is accepted.
  std::string error_of(const WorkloadOptions& options) {
    try {
      make_workload(options, 1);
      return "";
    } catch (const InputError& error) {
      std::string text = error.what();
      for (std::size_t at; (at = text.find(folder_.string() + "/")) != std::string::npos;) {
        text.erase(at, folder_.string().size() + 1);
      }
      return text;
    }
  }
  std::string error_of(const std::string& text) { return error_of(holding(text)); }

  fs::path folder_;
};

std::string session(int input, int output, int turns = 1) {
  std::string text = R"({"id":"s","turns":[)";
  for (int i = 0; i < turns; ++i) {
    text += (i ? "," : "") + std::string(R"({"input_tokens":)") + std::to_string(input) +
            R"(,"output_tokens":)" + std::to_string(output) + "}";
  }
  return text + "]}\n";
}

TEST_F(SessionFile, IsReadTurnByTurn) {
  const Workload workload = make_workload(holding(session(3, 5, 2) + "\n" + session(7, 9)), 1);
  ASSERT_EQ(workload.sessions.size(), 2u);
  ASSERT_EQ(workload.turns.size(), 3u);
  EXPECT_EQ(workload.turns_of(workload.sessions[0])[1].output_tokens, 5u);
  EXPECT_EQ(workload.turns_of(workload.sessions[1])[0].input_tokens, 7u);
  EXPECT_TRUE(workload.sessions[0].history_grows);
  EXPECT_EQ(workload.turns[0].time_s, 0);
  EXPECT_EQ(workload.turns[1].time_s, 30);
  // Histories 0, 3 + 5 and 0: their mean is 8 / 3.
  EXPECT_DOUBLE_EQ(workload.mean_history_tokens(), 8.0 / 3);
}

TEST_F(SessionFile, MayBeCompressed) {
  WorkloadOptions options = holding("");
  const gzFile file = gzopen(options.source.path.c_str(), "wb");
  const std::string text = session(3, 5, 40);
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  EXPECT_EQ(make_workload(options, 1).turns.size(), 40u);
  fs::resize_file(options.source.path, fs::file_size(options.source.path) - 10);
  EXPECT_EQ(error_of(options), "t.jsonl: cannot be read: unexpected end of file");
}

TEST_F(SessionFile, WithContextAsksEveryTurnOnTheBareContextUnlessToldOtherwise) {
  WorkloadOptions options = holding(
      R"({"id":1,"task":"qa","context_tokens":100,"turns":[{"input_tokens":2,"output_tokens":4},{"input_tokens":2,"output_tokens":4}]})");
  EXPECT_DOUBLE_EQ(make_workload(options, 1).mean_history_tokens(), 100);
  options.source.history = History::grow;
  EXPECT_DOUBLE_EQ(make_workload(options, 1).mean_history_tokens(), 103);  // (100 + 106) / 2
}

TEST_F(SessionFile, FirstSessionsAreTakenWhenFewerAreAsked) {
  WorkloadOptions options = holding(session(1, 1) + session(2, 1) + session(3, 1));
  options.sessions = 2;
  const Workload workload = make_workload(options, 1);
  ASSERT_EQ(workload.turns.size(), 2u);
  EXPECT_EQ(workload.turns[1].input_tokens, 2u);
  EXPECT_TRUE(workload.notes.empty());
}

TEST_F(SessionFile, IsResampledWithTheSeedWhenMoreAreAsked) {
  WorkloadOptions options = holding(session(1, 1) + session(2, 1) + session(3, 1));
  options.sessions = 300;
  const Workload workload = make_workload(options, 1);
  const Workload again = make_workload(options, 1);
  const Workload other = make_workload(options, 2);
  ASSERT_EQ(workload.turns.size(), 300u);
  double sum = 0;
  bool differs = false;
  for (std::size_t i = 0; i < 300; ++i) {
    if (i < 3) {
      EXPECT_EQ(workload.turns[i].input_tokens, i + 1);
    }
    EXPECT_EQ(workload.turns[i].input_tokens, again.turns[i].input_tokens);
    differs = differs || workload.turns[i].input_tokens != other.turns[i].input_tokens;
    sum += workload.turns[i].input_tokens;
  }
  EXPECT_TRUE(differs);
  EXPECT_NEAR(sum / 300, 2, 0.25);  // five standard errors of a uniform draw from 1, 2, 3
  ASSERT_EQ(workload.notes.size(), 1u);
  EXPECT_EQ(workload.notes[0], "the source has 3 sessions; 297 more are drawn from it at random");
}

TEST_F(SessionFile, WithArrivalsIsOrderedAndCountedFromItsFirst) {
  WorkloadOptions options = holding(
      R"({"id":"b","turns":[{"input_tokens":2,"output_tokens":1,"arrival_s":9},{"input_tokens":3,"output_tokens":1,"arrival_s":20}]}
{"id":"a","turns":[{"input_tokens":1,"output_tokens":1,"arrival_s":4.5}]})");
  EXPECT_EQ(make_workload(options, 1).notes[0],
            "arrival_s of the source is not used: workload.arrivals.process is not \"trace\"");
  options.arrivals.process = ArrivalProcess::trace;
  const Workload workload = make_workload(options, 1);
  EXPECT_TRUE(workload.absolute_times);
  EXPECT_EQ(workload.sessions_per_s, 0);
  EXPECT_EQ(workload.turns_of(workload.sessions[0])[0].input_tokens, 1u);
  EXPECT_EQ(workload.turns_of(workload.sessions[0])[0].time_s, 0);
  EXPECT_EQ(workload.turns_of(workload.sessions[1])[0].time_s, 4.5);
  EXPECT_EQ(workload.turns_of(workload.sessions[1])[1].time_s, 15.5);
  options.sessions = 3;
  EXPECT_EQ(error_of(options),
            "t.jsonl: workload.sessions: found 3, allowed: at most 2 (sessions of the file; "
            "a trace's arrivals cannot be resampled)");
}

TEST_F(SessionFile, MayHaveBadRowsSkippedAndCounted) {
  WorkloadOptions options = holding(session(0, 1) + session(1, 1) + "{\n");
  options.source.on_bad_row = BadRow::skip;
  const Workload workload = make_workload(options, 1);
  EXPECT_EQ(workload.turns.size(), 1u);
  EXPECT_EQ(workload.bad_rows_skipped, 2);
  ASSERT_EQ(workload.notes.size(), 1u);
  EXPECT_NE(workload.notes[0].find("2 bad rows skipped; the first: "), std::string::npos);
  EXPECT_NE(workload.notes[0].find("t.jsonl:1: turns.0.input_tokens: found 0"), std::string::npos);
}

TEST_F(SessionFile, IsRefusedWithPlaceAndReason) {
  const std::string good = session(1, 1);
  const std::string range = ", allowed: an integer from 1 to 10000000";
  const std::pair<std::string, std::string> cases[] = {
      {"", "t.jsonl: contains no sessions"},
      {"\n  \n", "t.jsonl: contains no sessions"},
      {good + session(0, 1), "t.jsonl:2: turns.0.input_tokens: found 0" + range},
      {session(1, 0), "t.jsonl:1: turns.0.output_tokens: found 0" + range},
      {session(-4, 1), "t.jsonl:1: turns.0.input_tokens: found -4" + range},
      {session(10000001, 1), "t.jsonl:1: turns.0.input_tokens: found 10000001" + range},
      {R"({"id":"s","turns":[{"input_tokens":1.5,"output_tokens":1}]})",
       "t.jsonl:1: turns.0.input_tokens: found 1.5" + range},
      {R"({"id":"s","turns":[{"input_tokens":"1","output_tokens":1}]})",
       "t.jsonl:1: turns.0.input_tokens: found \"1\"" + range},
      {R"({"id":"s","turns":[{"input_tokens":1}]})", "t.jsonl:1: turns.0.output_tokens: missing, required"},
      {R"({"id":"s","turns":[{"input_token":1,"output_tokens":1}]})",
       "t.jsonl:1: turns.0.input_token: unknown key; did you mean \"input_tokens\"?"},
      {R"({"id":"s","turns":[4]})", "t.jsonl:1: turns.0: found 4, allowed: an object"},
      {R"({"id":"s","turns":[]})",
       "t.jsonl:1: turns: found an empty array, allowed: an array with at least one turn"},
      {R"({"id":"s"})", "t.jsonl:1: turns: missing, required"},
      {R"({"turns":[{"input_tokens":1,"output_tokens":1}]})", "t.jsonl:1: id: missing, required"},
      {R"({"id":null,"turns":[]})", "t.jsonl:1: id: found null, allowed: a string or an integer"},
      {R"({"id":"s","turn":[]})", "t.jsonl:1: turn: unknown key; did you mean \"turns\"?"},
      {R"({"id":"s","task":3,"turns":[]})", "t.jsonl:1: task: found 3, allowed: a string"},
      {R"({"id":"s","context_tokens":-1,"turns":[]})",
       "t.jsonl:1: context_tokens: found -1, allowed: an integer from 0 to 10000000"},
      {"[1]", "t.jsonl:1: the line: found an array, allowed: an object"},
      {R"({"id":"s","turns":[{"input_tokens":1,"output_tokens":1,"arrival_s":-1}]})",
       "t.jsonl:1: turns.0.arrival_s: found -1, allowed: a number from 0 to 1e10"},
      {R"({"id":"s","turns":[{"input_tokens":1,"output_tokens":1,"arrival_s":5},{"input_tokens":1,"output_tokens":1,"arrival_s":4}]})",
       "t.jsonl:1: turns.1.arrival_s: found 4, allowed: no less than that of the turn before"},
      {good + "{\"id\":}",
       "t.jsonl:2:7: syntax error while parsing value - unexpected '}'; expected '[', '{', or a literal"},
      {"{\"id\":1e999}", "t.jsonl:1: number overflow parsing '1e999'"},
  };
  for (const auto& [text, message] : cases) EXPECT_EQ(error_of(text), message) << text;

  WorkloadOptions options = holding(good);
  options.arrivals.process = ArrivalProcess::trace;
  EXPECT_EQ(error_of(options),
            "t.jsonl:1: turns.0.arrival_s: missing, required where arrivals.process is \"trace\"");
  options.source.path = (folder_ / "absent.jsonl").string();
  EXPECT_EQ(error_of(options), "absent.jsonl: cannot be read: No such file or directory");
  options.source.path = folder_.string();
  EXPECT_NE(error_of(options).find("cannot be read: Is a directory"), std::string::npos);
}

// Enough sessions for tight moments.
WorkloadOptions many_chats() {
  WorkloadOptions options;
  options.source.kind = "chat";
  options.sessions = 20000;
  options.arrivals.sessions_per_s = 0.5;
  return options;
}

struct Gaps {
  double mean_s, cv;
};

Gaps gaps_of(const std::vector<double>& times) {
  double sum = 0, squares = 0;
  for (double one : times) {
    sum += one;
    squares += one * one;
  }
  const double count = static_cast<double>(times.size());
  const double mean = sum / count;
  return {mean, std::sqrt(squares / count - mean * mean) / mean};
}

Gaps arrival_gaps(const WorkloadOptions& options) {
  const Workload workload = make_workload(options, 1);
  std::vector<double> gaps;
  for (std::size_t i = 1; i < workload.sessions.size(); ++i) {
    gaps.push_back(workload.turns_of(workload.sessions[i])[0].time_s -
                   workload.turns_of(workload.sessions[i - 1])[0].time_s);
  }
  return gaps_of(gaps);
}

Gaps think_times(const WorkloadOptions& options) {
  const Workload workload = make_workload(options, 1);
  std::vector<double> times;
  for (const Session& one : workload.sessions) {
    for (const Turn& turn : workload.turns_of(one).subspan(1)) times.push_back(turn.time_s);
  }
  return gaps_of(times);
}

TEST(Arrivals, HaveTheRateAndVariationOfTheirProcess) {
  WorkloadOptions options = many_chats();
  EXPECT_NEAR(arrival_gaps(options).mean_s, 2, 0.08);
  EXPECT_NEAR(arrival_gaps(options).cv, 1, 0.04);
  options.arrivals.process = ArrivalProcess::gamma;
  options.arrivals.cv = 2;
  EXPECT_NEAR(arrival_gaps(options).mean_s, 2, 0.15);
  EXPECT_NEAR(arrival_gaps(options).cv, 2, 0.12);
  options.arrivals.process = ArrivalProcess::constant;
  EXPECT_NEAR(arrival_gaps(options).mean_s, 2, 1e-9);
  EXPECT_NEAR(arrival_gaps(options).cv, 0, 1e-6);
}

std::vector<double> arrivals_of(const WorkloadOptions& options) {
  const Workload workload = make_workload(options, 1);
  std::vector<double> times;
  for (const Session& one : workload.sessions) times.push_back(workload.turns_of(one)[0].time_s);
  return times;
}

// With gaps of one session, session i arrives when the integral of the rate is i.
TEST(ArrivalRates, PlaceConstantGapsAtTheIntegralOfTheRate) {
  WorkloadOptions options = many_chats();
  options.sessions = 41;
  options.arrivals = {.process = ArrivalProcess::constant};
  // 2/s for 5 s; nothing for 5 s; from 0 to 4/s in 10 s; 4/s.
  options.arrivals.rates = {{.from_s = 0, .sessions_per_s = 2},
                            {.from_s = 5, .sessions_per_s = 0},
                            {.from_s = 10, .sessions_per_s = 0, .ramp = true},
                            {.from_s = 20, .sessions_per_s = 4}};
  const std::vector<double> times = arrivals_of(options);
  EXPECT_DOUBLE_EQ(times[0], 0);
  EXPECT_DOUBLE_EQ(times[9], 4.5);  // 2 t = 9
  // 10 sessions are expected after 5 s and until 10 s: the tenth arrives when the rate is no longer 0.
  EXPECT_DOUBLE_EQ(times[10], 10);
  // 10 + (4/10) (t - 10)^2 / 2 = i
  EXPECT_DOUBLE_EQ(times[15], 10 + std::sqrt(5 / 0.2));
  EXPECT_DOUBLE_EQ(times[29], 10 + std::sqrt(19 / 0.2));
  // 30 are expected at 20 s.
  EXPECT_DOUBLE_EQ(times[30], 20);
  EXPECT_DOUBLE_EQ(times[40], 20 + 10 / 4.0);
  EXPECT_DOUBLE_EQ(make_workload(options, 1).sessions_per_s, 40 / 22.5);
}

TEST(ArrivalRates, MayFallToNothingAndBeginWithNothing) {
  WorkloadOptions options = many_chats();
  options.sessions = 12;
  options.arrivals = {.process = ArrivalProcess::constant};
  // Nothing for 3 s; then from 2/s to 0 in 10 s; then 1/s.
  options.arrivals.rates = {{.from_s = 0, .sessions_per_s = 0},
                            {.from_s = 3, .sessions_per_s = 2, .ramp = true},
                            {.from_s = 13, .sessions_per_s = 0, .ramp = true},
                            {.from_s = 14, .sessions_per_s = 1}};
  const std::vector<double> times = arrivals_of(options);
  EXPECT_DOUBLE_EQ(times[0], 3);
  // 2 u - (2/10) u^2 / 2 = 5 at u = 10 - sqrt(50)
  EXPECT_DOUBLE_EQ(times[5], 3 + 10 - std::sqrt(50.0));
  // 10 by 13 s, and half a session more by 14 s
  EXPECT_DOUBLE_EQ(times[11], 14 + 0.5);
}

// Sessions up to t: as many as the integral says, within five standard deviations of a Poisson count.
TEST(ArrivalRates, OfPoissonSessionsAreMetByTheirCounts) {
  WorkloadOptions options = many_chats();
  options.sessions = 20000;
  options.arrivals.sessions_per_s.reset();
  options.arrivals.rates = {{.from_s = 0, .sessions_per_s = 1, .ramp = true},
                            {.from_s = 1000, .sessions_per_s = 5},
                            {.from_s = 2000, .sessions_per_s = 2}};
  const std::vector<double> times = arrivals_of(options);
  EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
  const auto integral = [](double t) {
    if (t <= 1000) return t + 0.002 * t * t;  // t + (4/1000) t^2 / 2
    return t <= 2000 ? 3000 + 5 * (t - 1000) : 8000 + 2 * (t - 2000);
  };
  for (double t : {250.0, 500.0, 1000.0, 1500.0, 2000.0, 4000.0}) {
    const auto count = std::upper_bound(times.begin(), times.end(), t) - times.begin();
    EXPECT_NEAR(static_cast<double>(count), integral(t), 5 * std::sqrt(integral(t))) << t;
  }
}

TEST(ArrivalRates, OfOnePieceAreTheRateItself) {
  WorkloadOptions options = many_chats();
  options.sessions = 500;
  const std::vector<double> plain = arrivals_of(options);
  options.arrivals.sessions_per_s.reset();
  options.arrivals.rates = {{.from_s = 0, .sessions_per_s = 0.5}};
  const std::vector<double> curve = arrivals_of(options);
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_NEAR(curve[i], plain[i], 1e-9 * (1 + plain[i]));
}

// A day of 100 s: 2/s, from 20 s on a ramp to nothing at 60 s, from 80 s on a ramp back to 2/s. It brings
// 40 + 40 + 20 sessions.
TEST(ArrivalRates, MayRepeatDayByDay) {
  WorkloadOptions options = many_chats();
  options.sessions = 251;
  options.arrivals = {.process = ArrivalProcess::constant, .period_s = 100};
  options.arrivals.rates = {{.from_s = 0, .sessions_per_s = 2},
                            {.from_s = 20, .sessions_per_s = 2, .ramp = true},
                            {.from_s = 60, .sessions_per_s = 0},
                            {.from_s = 80, .sessions_per_s = 0, .ramp = true}};
  const std::vector<double> times = arrivals_of(options);
  EXPECT_DOUBLE_EQ(times[30], 15);
  // 0.05 u^2 = 5 at u = 10 of the ramp back: (2/20) u^2 / 2
  EXPECT_DOUBLE_EQ(times[85], 90);
  for (std::size_t i : {0u, 30u, 79u, 85u, 99u}) {
    EXPECT_NEAR(times[i + 100], times[i] + 100, 1e-9) << i;
    if (i + 200 < times.size()) {
      EXPECT_NEAR(times[i + 200], times[i] + 200, 1e-9) << i;
    }
  }
  EXPECT_DOUBLE_EQ(times[100], 100);
  EXPECT_DOUBLE_EQ(make_workload(options, 1).sessions_per_s, 250 / times[250]);
}

// Multiples of 1 / 0.021 sessions lie where a period ends, before or behind by rounding.
TEST(ArrivalRates, OfAPeriodThatEndsWithNothingAreTimesWhateverRounds) {
  WorkloadOptions options = many_chats();
  options.sessions = 60;
  options.arrivals = {.process = ArrivalProcess::constant, .period_s = 2};
  options.arrivals.rates = {{.from_s = 0, .sessions_per_s = 0.021}, {.from_s = 1, .sessions_per_s = 0}};
  double before_s = 0;
  for (const double time_s : arrivals_of(options)) {
    EXPECT_GE(time_s, before_s);
    EXPECT_LE(time_s, 60 / 0.021 * 2 + 2);
    before_s = time_s;
  }
}

TEST(ArrivalRates, OfPoissonSessionsRepeatInTheirCounts) {
  WorkloadOptions options = many_chats();
  options.sessions = 20000;
  options.arrivals.sessions_per_s.reset();
  options.arrivals.rates = {{.from_s = 0, .sessions_per_s = 1}, {.from_s = 300, .sessions_per_s = 9}};
  options.arrivals.period_s = 1000;
  const std::vector<double> times = arrivals_of(options);
  // 300 + 6,300 a period, whichever it is.
  for (double period : {0.0, 1.0, 2.0}) {
    const auto until = [&](double t) {
      return static_cast<double>(std::upper_bound(times.begin(), times.end(), 1000 * period + t) -
                                 times.begin());
    };
    EXPECT_NEAR(until(300) - until(0), 300, 5 * std::sqrt(300.0)) << period;
    EXPECT_NEAR(until(1000) - until(300), 6300, 5 * std::sqrt(6300.0)) << period;
  }
}

TEST_F(SessionFile, IsReplayedAtAMultipleOfItsRateAndKeepsThePaceInsideASession) {
  WorkloadOptions options = holding(
      R"({"id":1,"turns":[{"input_tokens":1,"output_tokens":1,"arrival_s":10},{"input_tokens":1,"output_tokens":1,"arrival_s":17}]})"
      "\n"
      R"({"id":2,"turns":[{"input_tokens":1,"output_tokens":1,"arrival_s":40},{"input_tokens":1,"output_tokens":1,"arrival_s":45}]})"
      "\n");
  options.arrivals = {.process = ArrivalProcess::trace, .speed = 4};
  const Workload workload = make_workload(options, 1);
  // The second session begins 30 / 4 s after the first; its second turn still comes 5 s later.
  EXPECT_DOUBLE_EQ(workload.turns[0].time_s, 0);
  EXPECT_DOUBLE_EQ(workload.turns[1].time_s, 7);
  EXPECT_DOUBLE_EQ(workload.turns[2].time_s, 7.5);
  EXPECT_DOUBLE_EQ(workload.turns[3].time_s, 12.5);
}

TEST_F(SessionFile, MaySayHowLongItsUsersThink) {
  WorkloadOptions options = holding(
      R"({"id":1,"turns":[{"input_tokens":1,"output_tokens":1},{"input_tokens":1,"output_tokens":1,"think_s":0.5},{"input_tokens":1,"output_tokens":1}]})");
  const Workload recorded = make_workload(options, 1);
  EXPECT_EQ(recorded.turns[1].time_s, 0.5);
  EXPECT_EQ(recorded.turns[2].time_s, 30);  // it does not say
  options.think_time.distribution = ThinkDistribution::constant;
  EXPECT_EQ(make_workload(options, 1).turns[1].time_s, 30);
  EXPECT_EQ(error_of(R"({"id":1,"turns":[{"input_tokens":1,"output_tokens":1,"think_s":1}]})"),
            "t.jsonl:1: turns.0.think_s: found 1, allowed: none for the first turn");
  options = holding(session(3, 5, 2));
  options.think_time.distribution = ThinkDistribution::recorded;
  EXPECT_EQ(make_workload(options, 1).notes.at(0),
            "workload.think_time.distribution is not used: the source has no think times; they are constant");
  options.think_time.distribution = ThinkDistribution::timetable;
  EXPECT_EQ(error_of(options),
            "workload.think_time.distribution: found \"timetable\", allowed: auto, constant, exponential, "
            "lognormal, recorded (the source does not say when turns arrive)");
}

TEST_F(SessionFile, MayBeAskedForInRequestsASecond) {
  // Two sessions with three turns: 1.5 turns each, so that 3 requests/s are 2 sessions/s.
  WorkloadOptions options = holding(session(3, 5, 2) + session(7, 9));
  options.arrivals = {.process = ArrivalProcess::constant, .requests_per_s = 3};
  const Workload workload = make_workload(options, 1);
  EXPECT_DOUBLE_EQ(workload.sessions_per_s, 2);
  EXPECT_DOUBLE_EQ(workload.turns[2].time_s, 0.5);
  options.arrivals = {.process = ArrivalProcess::constant};
  options.arrivals.rates = {{.from_s = 0, .requests_per_s = 3}};
  EXPECT_DOUBLE_EQ(make_workload(options, 1).turns[2].time_s, 0.5);
  EXPECT_EQ(make_workload(options, 1).concurrency, 0);
}

TEST_F(SessionFile, MayBeServedInAClosedLoop) {
  WorkloadOptions options = holding(session(3, 5, 2) + session(7, 9));
  options.arrivals = {.process = ArrivalProcess::closed_loop, .concurrency = 1};
  const Workload workload = make_workload(options, 1);
  EXPECT_EQ(workload.concurrency, 1);
  EXPECT_EQ(workload.sessions_per_s, 0);
  EXPECT_EQ(workload.turns[2].time_s, 0);  // after its release
  EXPECT_EQ(workload.turns[1].time_s, 30);
}

TEST(ThinkTime, HasTheMeanAndVariationOfItsDistribution) {
  WorkloadOptions options = many_chats();
  options.think_time.mean_s = 40;
  EXPECT_DOUBLE_EQ(think_times(options).mean_s, 40);
  options.think_time.distribution = ThinkDistribution::exponential;
  EXPECT_NEAR(think_times(options).mean_s, 40, 0.7);  // about 90,000 draws, five standard errors
  EXPECT_NEAR(think_times(options).cv, 1, 0.03);
  options.think_time.distribution = ThinkDistribution::lognormal;
  options.think_time.cv = 0.5;
  EXPECT_NEAR(think_times(options).mean_s, 40, 0.35);
  EXPECT_NEAR(think_times(options).cv, 0.5, 0.02);
}

TEST(Workload, DrawsOneSubjectWithoutShiftingAnother) {
  WorkloadOptions options = many_chats();
  options.sessions = 200;
  const Workload plain = make_workload(options, 1);
  options.think_time.distribution = ThinkDistribution::exponential;
  options.sessions = 300;
  const Workload other = make_workload(options, 1);
  for (std::size_t i = 0; i < 200; ++i) {
    const auto a = plain.turns_of(plain.sessions[i]), b = other.turns_of(other.sessions[i]);
    ASSERT_EQ(a.size(), b.size());
    EXPECT_EQ(a[0].time_s, b[0].time_s);
    for (std::size_t j = 0; j < a.size(); ++j) EXPECT_EQ(a[j].input_tokens, b[j].input_tokens);
  }
}

// 3 of 4 sessions with priority 5, and the others with -2; arrivals stay.
TEST(Workload, DrawsPrioritiesInTheirShares) {
  WorkloadOptions options = many_chats();
  options.sessions = 4000;
  const Workload plain = make_workload(options, 1);
  options.priorities = {{.share = 0.6, .priority = 5}, {.share = 0.2, .priority = -2}};
  const Workload drawn = make_workload(options, 1);
  int64_t fives = 0, others = 0;
  for (std::size_t i = 0; i < drawn.sessions.size(); ++i) {
    ASSERT_EQ(plain.sessions[i].priority, 0);
    fives += drawn.sessions[i].priority == 5;
    others += drawn.sessions[i].priority == -2;
    ASSERT_EQ(drawn.turns_of(drawn.sessions[i])[0].time_s, plain.turns_of(plain.sessions[i])[0].time_s);
  }
  EXPECT_EQ(fives + others, 4000);
  EXPECT_NEAR(static_cast<double>(fives), 3000, 137);  // five standard deviations of 27.4
}

TEST(ShareGptFile, HasTheTurnsThatItsReadmeCounts) {
  KVCAP_NEEDS_SHARED_DATA("traces/sharegpt_turns_repaired.jsonl");
  WorkloadOptions options;
  options.source.kind = "sessions";
  options.source.path = shared_data("traces/sharegpt_turns_repaired.jsonl");
  const Workload workload = make_workload(options, 1);
  EXPECT_EQ(workload.sessions.size(), 5678u);
  EXPECT_EQ(workload.turns.size(), 31432u);
  EXPECT_NEAR(workload.mean_history_tokens(), 2225.5, 0.1);
}

}  // namespace
}  // namespace kvcap::workload_test
