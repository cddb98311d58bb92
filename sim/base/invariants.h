// The invariants of a simulation, which kvcap run --check and the tests verify during a run. A broken
// invariant is a bug of kvcap: the program prints its name and its meaning, then aborts. tests/invariants.md
// shows this table.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace kvcap {

struct Invariant {
  std::string_view name;
  std::string_view holds;
  std::string_view when;
  std::string_view test;  // fails if the invariant is broken
};

inline constexpr std::string_view kAfterEvents = "after every event";
inline constexpr std::string_view kInTurn = "after every event; for a large store or pool, a part of it";
inline constexpr std::string_view kAtTheEnd = "at the end of a run";
inline constexpr std::string_view kAlways = "after every event and at the end of a run";
inline constexpr std::string_view kSoak = "Soak.FortyRandomScenariosBreakNoLaw";

inline constexpr Invariant kInvariants[] = {
    {"INV-CLOCK", "Time never goes back.", kAfterEvents, "InstanceDeathTest.StopsWhenTimeGoesBack"},
    {"INV-GPU-TIME",
     "The GPU time that restorations leave to steps never shrinks and grows no faster than the clock. A "
     "running step has started in the past, and its GPU time is at most its length.",
     kAfterEvents, kSoak},
    {"INV-TURNS",
     "Every turn that arrived was answered, rejected or abandoned exactly once, or is still in the system.",
     kAlways, "FinishedRunDeathTest.ATurnIsLost"},
    {"INV-PHASES", "A request is in the list of its phase, and its fields match that phase.", kAfterEvents,
     kSoak},
    {"INV-LIMITS", "At most max_num_seqs requests run, and at most max_queued_turns wait.", kAfterEvents,
     kSoak},
    {"INV-TOKENS",
     "A request computes each of its known tokens once. A step computes at least one token and at most "
     "max_num_batched_tokens.",
     kAfterEvents, kSoak},
    {"INV-ROOM",
     "A request holds the blocks that its tokens need, and a waiting request holds none. The blocks that "
     "reserve_output has reserved are free.",
     kAfterEvents, kSoak},
    {"INV-BLOCKS",
     "Free, cached and held blocks add up to the pool. The reference count of a block is the number of "
     "requests that hold it.",
     kInTurn, "KvPoolDeathTest.StopsWhenSomebodyHoldsWhatNobodyKnows"},
    {"INV-TREE",
     "A block is not evicted before the blocks that follow it. Parents and children in the prefix tree refer "
     "to each other.",
     kInTurn, "KvPoolAtRandom.DoesWhatARecordOfEveryBlockDoes"},
    {"INV-GROUPS",
     "A block belongs to one group of layers. A request holds no more blocks of a group than the rule of the "
     "group allows.",
     kInTurn, "KvPoolOfGroupsDeathTest.StopsWhenSomebodyHoldsWhatNobodyKnows"},
    {"INV-LOADS", "Every load in progress belongs to a request that waits for it.", kAfterEvents, kSoak},
    {"INV-FOUND", "The store still holds the hits of the latest lookup.", "when a request is admitted",
     kSoak},
    {"INV-PINS", "A store has one pin for each part of a prompt in use and for each prefetch.", kAfterEvents,
     kSoak},
    {"INV-FORECAST", "The look-ahead contains exactly the waiting requests.", kAfterEvents, kSoak},
    {"INV-NODES",
     "The router's view of a node is correct: whether it is up, its number of turns, the time of its next "
     "event.",
     kAlways, kSoak},
    {"INV-INDEX", "A store finds each context by its key, in exactly the tiers that hold it.", kInTurn,
     kSoak},
    {"INV-CAPACITY", "A tier holds at most its capacity, and its totals are the sums over its contexts.",
     kInTurn, kSoak},
    {"INV-HELD",
     "A context that is pinned, being copied or incomplete cannot be evicted; every other context can.",
     kInTurn, kSoak},
    {"INV-TIERS",
     "A tier holds at most as much of a context as the tiers nearer to the GPU. Only inclusive tiers hold a "
     "context twice.",
     kInTurn, kSoak},
    {"INV-STORED", "The tokens added minus the tokens removed are the tokens stored.", kInTurn, kSoak},
    {"INV-MOVES", "Every move that a store requested was performed. No count of moves is negative.", kInTurn,
     kSoak},
    {"INV-EMPTY", "After the last turn no request, load, pin or held block is left.", kAtTheEnd, kSoak},
    {"INV-TIMES",
     "A turn's times are nested: the parts of its restoration, service TTFT, TTFT, end-to-end latency, the "
     "run.",
     kAtTheEnd, "FinishedRunDeathTest.ATurnTakesLongerThanTheRun"},
    {"INV-HITS",
     "A turn's hits are at most its history. They are the sum of its hits in each tier, and it uses no more.",
     kAtTheEnd, "FinishedRunDeathTest.ATurnFindsMoreThanItsHistory"},
    {"INV-READS", "The bytes read from a tier are those of its hits.", kAtTheEnd,
     "FinishedRunDeathTest.ATierIsReadWhereNothingWasFound"},
    {"INV-FULL", "No tier and no KV pool exceeds its capacity, and no utilization exceeds 1.", kAtTheEnd,
     "FinishedRunDeathTest.ALinkIsBusierThanAlways"},
    {"INV-LEVELS", "No level of a time series is negative.", kAtTheEnd,
     "FinishedRunDeathTest.ALevelIsNegative"},
    {"INV-LITTLE",
     "Little's law: the mean number of turns in the system times the duration is the sum of their latencies.",
     kAtTheEnd, "FinishedRunDeathTest.TurnsStayLongerThanTheirLatencies"},
};

// Returns the row with this name; an unknown name does not compile.
consteval const Invariant& invariant(std::string_view name) {
  return *std::find_if(std::begin(kInvariants), std::end(kInvariants),
                       [name](const Invariant& one) { return one.name == name; });
}

[[noreturn]] inline void fail_invariant(const Invariant& one, const char* file, int line,
                                        const char* condition) {
  std::fprintf(stderr, "kvcap: bug: %.*s is broken (%.*s) at %s:%d: %s does not hold\n",
               static_cast<int>(one.name.size()), one.name.data(), static_cast<int>(one.holds.size()),
               one.holds.data(), file, line, condition);
  std::abort();
}

}  // namespace kvcap

#define KVCAP_INVARIANT(name, condition) \
  ((condition) ? static_cast<void>(0)    \
               : ::kvcap::fail_invariant(::kvcap::invariant(name), __FILE__, __LINE__, #condition))
