// Which references a cache finds, replayed one after the other through the whole simulator: short traces
// whose every hit is worked out by hand, and a real trace against exact stack distances.
//
// A reference is a prompt of one piece, a second after the one before, to a DRAM tier of some places: by then
// the piece is stored, so that there is no time in it and the semantics are those of cache simulators
// (libCacheSim): a use that misses enters, and something leaves when there is no room.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <sstream>

#include "validate/suites.h"
#include "validate/theory/reduced.h"
#include "validate/theory/theory.h"

namespace kvcap {
namespace {

constexpr const char* kHitsSuite = "hits";

struct Trace {
  const char* id;
  const char* what;
  EvictionKind eviction;
  std::size_t places;
  const char* references;
  const char* found;  // for each reference: x found, . not
};

// The sequence of Belady, Nelson and Shedler (1969), which FIFO misses more often with more places: 9 and 10
// times. Contents after each reference, first out first:
//
//           1    2    3    4    1    2    5    1    2    3    4    5
//   fifo 3  1    12   123  234  341  412  125  125  125  253  534  534
//   fifo 4  1    12   123  1234 1234 1234 2345 3451 4512 5123 1234 2345
//   lru 3   1    12   123  234  341  412  125  251  512  123  234  345
//   lru 4   1    12   123  1234 2341 3412 4125 4251 4512 5123 1234 2345
// Belady, what is used last (or never) leaves: at 4 of 1 (5th), 2 (6th) and 3 (10th) 3 leaves; at 5 of 1
// (8th), 2 (9th) and 4 (11th) 4; at 3 of 1 and 2 (never) and 5 (12th) 1, at 4 then 2 or 3: 7 misses. With
// four places at 5 of 1, 2, 3 (10th) and 4 (11th) 4 leaves, at 4 one that is not 5: 6 misses.
constexpr const char* kAnomaly = "1 2 3 4 1 2 5 1 2 3 4 5";

// The sequence of Silberschatz, Galvin and Gagne, Operating System Concepts, chapter on virtual memory: 15,
// 12 and 9 misses of fifo, lru and belady with three places. lfu by hand, uses since the entry as exponents,
// of equals the one used longest ago leaves:
//
//   7   7            0  0^3 4 2 (3 out)      2  0^4 1 2^3
//   0   7 0          3  0^3 2 3 (4 out)      0  1 2^3 0^5
//   1   7 0 1        0  2 3 0^4              1  2^3 0^5 1^2
//   2   0 1 2        3  2 0^4 3^2            7  2^3 0^5 7 (1 out)
//   0   1 2 0^2      2  0^4 3^2 2^2          0  2^3 7 0^6
//   3   2 0^2 3      1  0^4 2^2 1 (3 out)    1  2^3 0^6 1 (7 out)
//   0   2 3 0^3
//   4   3 0^3 4 (2 out)
//
// score with one use worth 1 is the number of uses ever, stored or not; what is worth less than all that is
// stored does not enter:
//
//   7 0 1 2 0 3 0 4 as above, then 3 0^3 4   2  0^4 3^3 2^4
//   2  0^3 4 2^2 (3 out)                     0  3^3 2^4 0^5
//   3  0^3 2^2 3^2 (4 out)                   1  2^4 0^5 1^3 (3 out)
//   0  2^2 3^2 0^4                           7  has 2 uses, the least stored 3: stays out
//   3  2^2 0^4 3^3                           0  2^4 1^3 0^6
//   2  0^4 3^3 2^3                           1  2^4 0^6 1^4
//   1  has 2 uses, the least stored 3: stays out
constexpr const char* kTextbook = "7 0 1 2 0 3 0 4 2 3 0 3 2 1 2 0 1 7 0 1";

// S3-FIFO (Yang et al. 2023, algorithm 1) with ten places: the small queue's share is one, the ghost
// remembers nine. Small | main (uses) | ghost, oldest first. libCacheSim finds the same where it lets
// newcomers into the small queue before anything has left (S3FIFOv0). Elsewhere it may differ: its tenth is
// rounded down, it asks the ghost before it evicts, and what comes back from the ghost makes room there for
// older keys.
//
// What is used more than once in the small queue outlives a scan in the main one, and what left unused enters
// the main queue when it comes back:
//   1 1 1 2 2 2 3 .. 10  1(2) 2(2) 3 .. 10 | - | -
//   11  4 .. 11 | 1 2 | 3: 1 and 2 move, their uses forgotten, 3 leaves
//   12  5 .. 12 | 1 2 | 3 4
//   1 2 found: 5 .. 12 | 1(1) 2(1) | 3 4
//   3   6 .. 12 | 1(1) 2(1) 3 | 4 5
//   1 2 found
constexpr const char* kScan = "1 1 1 2 2 2 3 4 5 6 7 8 9 10 11 12 1 2 3 1 2";
// When nothing is left in the small queue the main one gives up its oldest that has not been used, and those
// are forgotten for good:
//   1 1 1 .. 10 10 10  1(2) .. 10(2) | - | -
//   11  11 | 2 .. 10 | -: all ten move, and 1 is the oldest of the main queue
//   2 2 3 found: 11 | 2(2) 3(1) 4 .. 10 | -
//   12  12 | 2(2) 3(1) 4 .. 10 | 11
//   11  - | 2(2) 3(1) 4 .. 11 | 12: 12 leaves, 11 comes back into the main queue
//   13  13 | 5 .. 11 2(1) 3 | 12: 2 and 3 go round once more, 4 leaves
//   1   1 | 5 .. 11 2(1) 3 | 12 13
//   3   found
//   4   4 | 5 .. 11 2(1) 3(1) | 12 13 1
//   2   found
constexpr const char* kRound =
    "1 1 1 2 2 2 3 3 3 4 4 4 5 5 5 6 6 6 7 7 7 8 8 8 9 9 9 10 10 10 11 2 2 3 12 11 13 1 3 4 2";

constexpr Trace kTraces[] = {
    {"fifo.anomaly_3", "FIFO, 3 places", EvictionKind::fifo, 3, kAnomaly, ". . . . . . . x x . . x"},
    {"fifo.anomaly_4", "FIFO, 4 places", EvictionKind::fifo, 4, kAnomaly, ". . . . x x . . . . . ."},
    {"lru.anomaly_3", "LRU, 3 places", EvictionKind::lru, 3, kAnomaly, ". . . . . . . x x . . ."},
    {"lru.anomaly_4", "LRU, 4 places", EvictionKind::lru, 4, kAnomaly, ". . . . x x . x x . . ."},
    {"belady.anomaly_3", "Belady, 3 places", EvictionKind::belady, 3, kAnomaly, ". . . . x x . x x . . x"},
    {"belady.anomaly_4", "Belady, 4 places", EvictionKind::belady, 4, kAnomaly, ". . . . x x . x x x . x"},
    {"fifo.textbook_3", "FIFO, 3 places", EvictionKind::fifo, 3, kTextbook,
     ". . . . x . . . . . . x x . . x x . . ."},
    {"lru.textbook_3", "LRU, 3 places", EvictionKind::lru, 3, kTextbook,
     ". . . . x . x . . . . x x . x . x . x x"},
    {"belady.textbook_3", "Belady, 3 places", EvictionKind::belady, 3, kTextbook,
     ". . . . x . x . x x . x x . x x x . x x"},
    {"lfu.textbook_3", "LFU, 3 places", EvictionKind::lfu, 3, kTextbook,
     ". . . . x . x . . . x x x . x x x . x ."},
    {"score.textbook_3", "score of one a use, 3 places", EvictionKind::score, 3, kTextbook,
     ". . . . x . x . . . x x x . x x . . x x"},
    {"s3_fifo.scan_10", "S3-FIFO, 10 places, a scan", EvictionKind::s3_fifo, 10, kScan,
     ". x x . x x . . . . . . . . . . x x . x x"},
    {"s3_fifo.round_10", "S3-FIFO, 10 places, a full main queue", EvictionKind::s3_fifo, 10, kRound,
     ". x x . x x . x x . x x . x x . x x . x x . x x . x x . x x . x x x . . . . x . x"},
};

template <class Word>
std::vector<Word> words(const char* text) {
  std::istringstream stream(text);
  return {std::istream_iterator<Word>(stream), std::istream_iterator<Word>()};
}

std::vector<Check> short_traces() {
  std::vector<Case> cases;
  for (const Trace& trace : kTraces) {
    const auto references = words<uint64_t>(trace.references);
    cases.push_back({cache_scenario(trace.eviction, trace.places),
                     reference_workload(seconds_apart(references.size()), references)});
  }
  const std::vector<RunResult> runs = run_cases(cases);
  std::vector<Check> checks;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto found = words<char>(kTraces[i].found);
    double misses = 0, expected = 0, otherwise = 0;
    for (std::size_t k = 0; k < found.size(); ++k) {
      const bool hit = runs[i].turns[k].hit_tokens > 0;
      misses += !hit;
      expected += found[k] == '.';
      otherwise += hit != (found[k] == 'x');
    }
    checks.push_back(exact_check(
        kHitsSuite, kTraces[i].id,
        std::string(kTraces[i].what) + ", " + std::to_string(found.size()) +
            " references: misses, and references of which hit or miss is not as worked out by hand",
        {misses, otherwise}, {expected, 0}, 0));
  }
  return checks;
}

// ---- prefixes ----

// Blocks A to G; a block is found when all before it are, and a prompt's first block is its most recent.
// LRU with four places, most recent first:
//
//   ABC  finds -   ABC          ABD  finds AB  ABDC
//   ABD  finds AB  ABDC         FG   finds -   FGAB
//   AE   finds A   AEBD         ABC  finds AB  ABCF
//   ABC  finds AB  ABCE
//
// Where nothing leaves: -, AB, A, ABC, ABD, -, ABC.
Workload prompts_of_blocks() {
  Workload workload = turns_alone(seconds_apart(7), [](uint64_t) { return 1; });
  workload.piece_begin.push_back(0);
  std::size_t turn = 0;
  for (const char* blocks : {"ABC", "ABD", "AE", "ABC", "ABD", "FG", "ABC"}) {
    Turn& prompt = workload.turns[turn++];
    for (const char* block = blocks; *block != '\0'; ++block) {
      workload.pieces.push_back({.key = static_cast<uint64_t>(*block), .tokens = 64});
      prompt.input_tokens += 64;
    }
    workload.piece_begin.push_back(workload.pieces.size());
  }
  return workload;
}

std::vector<Check> prefixes() {
  Case bounded{cache_scenario(EvictionKind::lru, 4), prompts_of_blocks()};
  Case unbounded = bounded;
  unbounded.scenario.policy.unbounded = true;
  const std::vector<RunResult> runs = run_cases({bounded, unbounded});
  std::vector<std::vector<double>> blocks;
  for (const RunResult& run : runs) {
    blocks.emplace_back();
    for (const TurnRecord& turn : run.turns) blocks.back().push_back(turn.hit_tokens / 64.0);
  }
  return {
      exact_check(kHitsSuite, "lru.prefixes_4", "blocks found of seven prompts, LRU, 4 places", blocks[0],
                  {0, 2, 1, 2, 2, 0, 2}, 0),
      exact_check(kHitsSuite, "unbounded.prefixes", "blocks found of the same prompts where nothing leaves",
                  blocks[1], {0, 2, 1, 3, 3, 0, 3}, 0)};
}

// ---- Mooncake ----

// Its requests in order, an hour of chats as blocks of 512 tokens.
Workload mooncake_in_order(const std::string& path) {
  WorkloadOptions options;
  options.source = {.kind = "mooncake", .path = path};
  options.arrivals.process = ArrivalProcess::trace;
  Workload workload = make_workload(options, 1);
  for (std::size_t i = 0; i < workload.turns.size(); ++i) {
    workload.turns[i].time_s = static_cast<double>(i);
    workload.turns[i].output_tokens = 1;
  }
  return workload;
}

// Of each prompt the leading blocks whose stack distance fits. The last token of a prompt is computed in any
// case. Its blocks are used from the last to the first, so that what leaves first is of no use without those
// that stay; sizes are tokens.
std::vector<int64_t> found_by_lru(const Workload& workload, int64_t capacity_tokens) {
  LruStack stack(workload.pieces.size());
  std::vector<int64_t> found;
  for (std::size_t turn = 0; turn < workload.turns.size(); ++turn) {
    const std::span<const Piece> pieces = workload.pieces_of(turn);
    int64_t tokens = 0;
    for (const Piece& piece : pieces) {
      const int64_t distance = stack.distance(piece.key);
      if (distance < 0 || distance > capacity_tokens) break;
      tokens += piece.tokens;
    }
    found.push_back(std::min(tokens, int64_t{workload.turns[turn].input_tokens} - 1));
    for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) stack.use(piece->key, piece->tokens);
  }
  return found;
}

Case mooncake_case(const Workload& workload, std::optional<int64_t> capacity_tokens) {
  Scenario scenario = reduced_scenario("kv_offload");
  scenario.serving.max_num_batched_tokens = 1 << 20;
  scenario.policy.tiers = {{.kind = Tier::dram}};
  scenario.policy.unbounded = !capacity_tokens;
  if (capacity_tokens) {
    scenario.policy.tiers->front().capacity_bytes =
        static_cast<double>(*capacity_tokens) * scenario.model.kv_bytes_per_token();
  }
  return {scenario, workload};
}

std::vector<Check> mooncake(const std::string& data_folder) {
  struct Size {
    const char* id;
    const char* what;
    int64_t tokens;
  };
  constexpr Size kSizes[] = {{"mooncake.lru_4m", "LRU of 4 million tokens", 4'000'000},
                             {"mooncake.lru_16m", "LRU of 16 million tokens", 16'000'000}};
  const std::string all =
      "Mooncake's conversation trace (FAST 2025), 12,031 prompts in order: token hit rate";
  const std::string against =
      ", and prompts of which not as many tokens are found as exact stack distances say";
  const std::string path = data_folder + "/traces/mooncake_conversation_trace.jsonl.gz";

  std::vector<Check> checks;
  if (!std::filesystem::exists(path)) {
    for (const auto& [id, what] : {std::pair{"mooncake.unbounded", "a store that keeps everything"},
                                   {kSizes[0].id, kSizes[0].what},
                                   {kSizes[1].id, kSizes[1].what}}) {
      Check check;
      check.id = std::string(kHitsSuite) + "." + id;
      check.suite = kHitsSuite;
      check.what = all + ", " + what;
      check.promised = true;
      check.reason = path + " is not there: the trace is no part of the project (traces/README.md)";
      checks.push_back(check);
    }
    return checks;
  }

  const Workload workload = mooncake_in_order(path);
  std::vector<Case> cases = {mooncake_case(workload, std::nullopt)};
  for (const Size& size : kSizes) cases.push_back(mooncake_case(workload, size.tokens));
  const std::vector<RunResult> runs = run_cases(cases);
  // 37.4 % is a fact of the trace, counted by another program.
  checks.push_back(exact_check(kHitsSuite, "mooncake.unbounded", all + ", a store that keeps everything",
                               {runs[0].number("token_hit_rate")}, {0.374}, 0.0005 / 0.374));
  double prompt_tokens = 0;
  for (const Turn& turn : workload.turns) prompt_tokens += turn.input_tokens;
  for (std::size_t i = 0; i < std::size(kSizes); ++i) {
    const std::vector<int64_t> found = found_by_lru(workload, kSizes[i].tokens);
    double tokens = 0, otherwise = 0;
    for (std::size_t turn = 0; turn < found.size(); ++turn) {
      tokens += static_cast<double>(found[turn]);
      otherwise += runs[i + 1].turns[turn].hit_tokens != found[turn];
    }
    checks.push_back(exact_check(kHitsSuite, kSizes[i].id, all + ", " + kSizes[i].what + against,
                                 {runs[i + 1].number("token_hit_rate"), otherwise},
                                 {tokens / prompt_tokens, 0}, 1e-12));
  }
  return checks;
}

}  // namespace

std::vector<Check> hits_checks(const SuiteOptions& options) {
  std::vector<Check> checks = short_traces();
  for (const std::vector<Check>& more : {prefixes(), mooncake(options.data_folder)}) {
    checks.insert(checks.end(), more.begin(), more.end());
  }
  return checks;
}

}  // namespace kvcap
