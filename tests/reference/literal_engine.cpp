#include "reference/literal_engine.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <utility>

namespace kvcap::reference {
namespace {

std::vector<KvGroup> groups_of(const EngineOptions& options) {
  if (!options.groups.empty()) return options.groups;
  return {{.block_tokens = options.block_size}};
}

// A request with what the engine knows of it.
struct Sequence {
  const Request* request = nullptr;
  Outcome* outcome = nullptr;
  int64_t prompt = 0;
  BlockNames names;  // of the full blocks of the prompt and of the whole answer
  int64_t generated = 0;
  int64_t scheduled = 0;       // tokens whose computation is done, under way or planned
  int64_t computed = 0;        // done
  int64_t tokens_ahead = 0;    // that steps under way or planned will yield if all drafts are accepted
  int64_t drafts_ahead = 0;    // of them
  int64_t drafted = 0;         // tokens that its last step drafted
  int64_t steps_orphaned = 0;  // such steps, of a sequence that has been preempted since
  int64_t prefill_end = 0;     // tokens that were known when it was admitted
  bool was_admitted = false;
  LiteralRequest holding;

  int64_t known() const { return prompt + generated; }
  int64_t to_come() const { return known() + tokens_ahead; }
  bool ends_with_those_ahead() const {
    return generated + tokens_ahead - drafts_ahead >= request->output_tokens;
  }
  bool is_complete() const { return generated == request->output_tokens; }
};

struct Slice {
  Sequence* sequence;
  SliceOfStep what;
};
using Step = std::vector<Slice>;

class LiteralEngine {
 public:
  LiteralEngine(const EngineOptions& options, std::span<const Request> requests, const GpuTime& gpu_s,
                const Yields& yields)
      : options_(options),
        gpu_s_(gpu_s),
        yields_(yields),
        groups_(groups_of(options)),
        pool_(options.blocks, groups_, options.checkpoints, options.prefix_caching, options.retention) {
    run_.outcomes.resize(requests.size());
    sequences_.resize(requests.size());
    for (std::size_t i = 0; i < requests.size(); ++i) {
      run_.outcomes[i].id = requests[i].id;
      sequences_[i] = sequence_of(requests[i], run_.outcomes[i]);
      arrivals_.push_back(&sequences_[i]);
    }
    std::stable_sort(arrivals_.begin(), arrivals_.end(), [](const Sequence* one, const Sequence* other) {
      return one->request->arrival_s < other->request->arrival_s;
    });
  }

  EngineRun run() {
    Step step;
    while (!arrivals_.empty() || !waiting_.empty() || !running_.empty()) {
      if (step.empty()) {
        if (waiting_.empty() && running_.empty())
          now_s_ = std::max(now_s_, arrivals_.front()->request->arrival_s);
        step = plan();
        if (step.empty()) continue;
      }
      const double end_s = now_s_ + duration_s(step);
      Step next;
      if (options_.async_scheduling) next = plan();
      now_s_ = end_s;
      finish(step);
      lost_.clear();
      for (Slice& slice : next) {
        // What came of the drafts before decides where the next ones stand.
        slice.what.cached_tokens = slice.sequence->computed;
        if (slice.sequence->is_complete()) lost_.push_back(slice.what);
      }
      std::erase_if(next, [this](const Slice& slice) { return !is_running(slice.sequence); });
      if (next.empty()) lost_.clear();
      step = std::move(next);
    }
    for (const LiteralGroups::Evicted& evicted : pool_.evicted()) {
      if (evicted.group == 0) run_.evicted.push_back({evicted.blocks, evicted.last});
    }
    return std::move(run_);
  }

 private:
  Sequence sequence_of(const Request& request, Outcome& outcome) {
    std::vector<Token> tokens;
    const auto append = [&tokens](Key text, int64_t count) {
      for (int64_t i = 0; i < count; ++i) tokens.push_back({text, i});
    };
    for (const TextPart& part : request.prompt) append(part.text, part.tokens);
    append(answer_text(request.id), request.output_tokens);
    Sequence sequence;
    sequence.request = &request;
    sequence.outcome = &outcome;
    sequence.prompt = prompt_tokens(request);
    sequence.names = pool_.names_of(tokens);
    return sequence;
  }

  bool is_running(const Sequence* sequence) const {
    return std::find(running_.begin(), running_.end(), sequence) != running_.end();
  }

  double duration_s(const Step& step) {
    ++run_.steps;
    std::vector<SliceOfStep> slices;
    for (const Slice& slice : step) slices.push_back(slice.what);
    slices.insert(slices.end(), lost_.begin(), lost_.end());
    const double gpu = gpu_s_ ? gpu_s_(slices) : 0;
    const double host =
        options_.step_overhead_s + options_.step_overhead_per_sequence_s * static_cast<double>(step.size());
    return options_.async_scheduling ? std::max(gpu, host) : gpu + host;
  }

  // ---- the plan of a step ----

  Step plan() {
    pool_.pool().set_time(now_s_);
    pool_.pool().expire();
    take_arrivals();
    Step step;
    int64_t budget = options_.max_num_batched_tokens;
    const bool preempted = schedule_running(step, budget);
    if (!preempted) schedule_waiting(step, budget);
    for (const Slice& slice : step) {
      if (!slice.what.yields_token) continue;
      slice.sequence->tokens_ahead += 1 + slice.what.drafts;
      slice.sequence->drafts_ahead += slice.what.drafts;
      slice.sequence->drafted =
          options_.drafts_by_batch ? options_.drafts_by_batch(std::ssize(step)) : options_.draft_tokens;
    }
    return step;
  }

  void take_arrivals() {
    while (!arrivals_.empty() && arrivals_.front()->request->arrival_s <= now_s_) {
      Sequence* sequence = arrivals_.front();
      arrivals_.pop_front();
      // The last token of the answer is not computed again.
      int64_t longest = sequence->prompt + sequence->request->output_tokens - 1;
      // Drafts of its last step lie behind it, and of one that is planned before that ends.
      if (options_.draft_tokens > 0) {
        longest += options_.draft_tokens * (options_.async_scheduling ? 2 : 1) + options_.lookahead_tokens;
        longest = std::min(longest, options_.max_model_len);
      }
      if (most_blocks(longest) <= options_.blocks) {
        enqueue(sequence);
      } else {
        sequence->outcome->refused = true;
      }
    }
  }

  static bool goes_before(const Sequence* one, const Sequence* other) {
    return std::pair(one->request->priority, one->request->id) <
           std::pair(other->request->priority, other->request->id);
  }

  // At the end, or in order of priority.
  void enqueue(Sequence* sequence) {
    waiting_.push_back(sequence);
    if (options_.has_priorities) std::stable_sort(waiting_.begin(), waiting_.end(), goes_before);
  }

  // Returns whether somebody was preempted.
  bool schedule_running(Step& step, int64_t& budget) {
    bool preempted = false;
    const std::vector<Sequence*> in_order = running_;
    for (Sequence* sequence : in_order) {
      if (!is_running(sequence) || sequence->ends_with_those_ahead()) continue;
      const int64_t tokens = slice(sequence->scheduled, sequence->to_come(), budget);
      if (tokens <= 0) continue;
      const bool decodes =
          sequence->to_come() - sequence->scheduled == 1 && sequence->scheduled >= sequence->prefill_end;
      // No row stands where the last token of the longest sequence would.
      const int64_t rows_left = options_.max_model_len - 1 - sequence->scheduled;
      if (sequence->drafts_ahead > 0 && rows_left < 1) continue;
      int64_t drafts = 0;
      if (decodes)
        drafts = std::max<int64_t>(0, std::min({sequence->drafted, most_of_one(budget) - 1, rows_left - 1}));
      while (is_running(sequence) && !grow(*sequence, sequence->scheduled + tokens + drafts)) {
        preempt_last(step, budget);
        preempted = true;
      }
      if (!is_running(sequence)) break;
      schedule(step, budget, *sequence, tokens, drafts);
    }
    return preempted;
  }

  void schedule_waiting(Step& step, int64_t& budget) {
    while (!waiting_.empty() && budget > 0 && std::ssize(running_) < options_.max_num_seqs) {
      Sequence& sequence = *waiting_.front();
      // Never the last token: it is computed again to yield the next one.
      LiteralGroups::Hits hits = pool_.find(sequence.names, sequence.known() - 1);
      if (options_.drops_last_block) hits = pool_.find(sequence.names, hits.tokens - 1);
      const int64_t missing = missing_blocks(hits.tokens, with_lookahead(sequence.known()));
      if (missing > pool_.pool().free() - hits.unheld) return;  // those behind it wait with it
      const int64_t tokens = slice(hits.tokens, sequence.known(), budget);
      if (tokens == 0) return;  // the end of a block is too far for this step
      sequence.holding = pool_.begin(sequence.names, hits.tokens);
      sequence.scheduled = sequence.computed = hits.tokens;
      sequence.prefill_end = sequence.known();
      if (!sequence.was_admitted) sequence.outcome->hit_tokens = sequence.scheduled;
      sequence.was_admitted = true;
      grow(sequence, sequence.scheduled + tokens);
      waiting_.pop_front();
      running_.push_back(&sequence);
      schedule(step, budget, sequence, tokens, 0);
    }
  }

  static void schedule(Step& step, int64_t& budget, Sequence& sequence, int64_t tokens, int64_t drafts) {
    const bool is_decode = sequence.scheduled >= sequence.prefill_end;
    const int64_t before = sequence.scheduled;
    sequence.scheduled += tokens + drafts;
    budget -= tokens + drafts;
    const bool yields = before + tokens == sequence.to_come() && !sequence.ends_with_those_ahead();
    step.push_back({&sequence, {tokens + drafts, before, is_decode, drafts, yields}});
  }

  int64_t with_lookahead(int64_t tokens) const {
    return std::max(tokens, std::min(tokens + options_.lookahead_tokens, options_.max_model_len));
  }
  // Of one sequence, from the first token that is surely computed on.
  int64_t slots_of_step() const { return options_.max_num_batched_tokens + 3 * options_.draft_tokens; }

  // Tokens that one request may get of those that are left.
  int64_t most_of_one(int64_t budget) const {
    if (options_.long_prefill_token_threshold == 0) return budget;
    return std::min(budget, options_.long_prefill_token_threshold);
  }

  // Of the tokens behind `done` of `known` ones, those that a step computes. Where states are kept at ends of
  // blocks, a step ends there, as long as a full block is left.
  int64_t slice(int64_t done, int64_t known, int64_t budget) const {
    int64_t tokens = std::min(known - done, most_of_one(budget));
    for (const KvGroup& group : groups_) {
      const bool aligns = options_.prefix_caching && options_.checkpoints == Checkpoints::align;
      if (group.rule != KvRule::checkpoint || !aligns) continue;
      const int64_t size = group.block_tokens;
      const int64_t last = known / size * size;  // the last end of a block
      if (done + tokens < last) tokens = tokens / size * size;
      if (done < last && last < done + tokens) tokens = last - done;
    }
    return tokens;
  }

  int64_t most_blocks(int64_t tokens) const {
    int64_t blocks = 0;
    for (const KvGroup& group : groups_) {
      blocks += group.most_blocks(tokens, slots_of_step(), options_.checkpoints);
    }
    return blocks;
  }

  // That a sequence may still need at once for its first `tokens` tokens, of which `found` were found.
  int64_t missing_blocks(int64_t found, int64_t tokens) const {
    int64_t blocks = 0;
    for (const KvGroup& group : groups_) {
      const int64_t unneeded = group.unneeded_blocks(found);
      const int64_t all = (tokens + group.block_tokens - 1) / group.block_tokens - unneeded;
      const int64_t most = group.most_blocks(1 << 30, slots_of_step(), options_.checkpoints);
      blocks += std::max<int64_t>(0, std::min(all, most) - (found / group.block_tokens - unneeded));
    }
    return blocks;
  }

  // Takes the blocks for the sequence's first `tokens` tokens; returns false where they are not free.
  bool grow(Sequence& sequence, int64_t tokens) {
    if (sequence.holding.blocks.empty()) sequence.holding = pool_.begin(sequence.names, 0);
    if (options_.draft_tokens > 0) sequence.holding.computed = sequence.scheduled - sequence.drafts_ahead;
    if (!pool_.grow(sequence.holding, with_lookahead(tokens))) return false;
    name_blocks(sequence, tokens);
    return true;
  }

  // Names those of the first `tokens` tokens whose contents are known.
  void name_blocks(Sequence& sequence, int64_t tokens) {
    pool_.name(sequence.holding,
               std::min(tokens, options_.cache_generated ? sequence.known() : sequence.prompt),
               sequence.prompt);
  }

  void preempt_last(Step& step, int64_t& budget) {
    auto last = running_.end() - 1;
    if (options_.has_priorities) last = std::max_element(running_.begin(), running_.end(), goes_before);
    Sequence& victim = **last;
    running_.erase(last);
    for (const Slice& slice : step) {
      if (slice.sequence == &victim) budget += slice.what.tokens;
    }
    std::erase_if(step, [&victim](const Slice& slice) { return slice.sequence == &victim; });
    pool_.give_back(victim.holding);
    victim.holding = {};
    victim.steps_orphaned += victim.tokens_ahead - victim.drafts_ahead;
    victim.tokens_ahead = victim.drafts_ahead = victim.scheduled = victim.computed = 0;
    ++victim.outcome->preemptions;
    if (options_.has_priorities) return enqueue(&victim);
    waiting_.push_front(&victim);
  }

  // ---- the end of a step ----

  void finish(const Step& step) {
    pool_.pool().set_time(now_s_);
    for (const Slice& slice : step) {
      Sequence& sequence = *slice.sequence;
      const int64_t drafts = slice.what.drafts;
      if (sequence.steps_orphaned > 0) {  // preempted while this step ran
        --sequence.steps_orphaned;
        add_tokens(sequence, drafts);
        if (sequence.is_complete()) leave(sequence);
      } else if (is_running(&sequence)) {
        sequence.computed += slice.what.tokens - drafts;
        if (sequence.computed < sequence.known()) continue;
        sequence.tokens_ahead -= 1 + drafts;
        sequence.drafts_ahead -= drafts;
        const int64_t accepted = add_tokens(sequence, drafts) - 1;
        sequence.computed += accepted;
        sequence.scheduled -= drafts - accepted;
        name_blocks(sequence, sequence.scheduled);
        if (sequence.is_complete()) leave(sequence);
      }
    }
  }

  // Returns how many: none stands behind the last one of the answer.
  int64_t add_tokens(Sequence& sequence, int64_t drafts) {
    int64_t tokens = 1;
    if (drafts > 0) {
      const auto which = static_cast<std::size_t>(&sequence - sequences_.data());
      tokens = std::min(yields_(which, sequence.generated, drafts),
                        sequence.request->output_tokens - sequence.generated);
    }
    for (int64_t i = 0; i < tokens; ++i) add_token(sequence);
    return tokens;
  }

  void add_token(Sequence& sequence) {
    ++sequence.generated;
    Outcome& outcome = *sequence.outcome;
    outcome.token_dates_s.push_back(now_s_);
    outcome.ttft_s = outcome.token_dates_s.front() - sequence.request->arrival_s;
    outcome.e2el_s = now_s_ - sequence.request->arrival_s;
  }

  void leave(Sequence& sequence) {
    std::erase(waiting_, &sequence);
    std::erase(running_, &sequence);
    pool_.give_back(sequence.holding);
    sequence.holding = {};
  }

  EngineOptions options_;
  const GpuTime& gpu_s_;
  const Yields& yields_;
  std::vector<SliceOfStep> lost_;  // that the step computes for requests that ended after it was planned
  std::vector<KvGroup> groups_;
  LiteralGroups pool_;
  double now_s_ = 0;
  std::vector<Sequence> sequences_;
  std::deque<Sequence*> arrivals_, waiting_;
  std::vector<Sequence*> running_;  // in order of admission
  EngineRun run_;
};

}  // namespace

int64_t prompt_tokens(const Request& request) {
  int64_t tokens = 0;
  for (const TextPart& part : request.prompt) tokens += part.tokens;
  return tokens;
}

int64_t EngineRun::preemptions() const {
  int64_t all = 0;
  for (const Outcome& outcome : outcomes) all += outcome.preemptions;
  return all;
}

EngineRun run_literally(const EngineOptions& options, std::span<const Request> requests, const GpuTime& gpu_s,
                        const Yields& yields) {
  return LiteralEngine(options, requests, gpu_s, yields).run();
}

}  // namespace kvcap::reference
