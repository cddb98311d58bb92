// SGLang's scheduler, one pass of its loop after the other, without overlap: what a pass computes of which
// request, which requests it retracts, and what each prompt finds in the radix cache.
//
// Read from scheduler.py@0003215 (get_next_batch_to_run, update_running_batch), schedule_policy.py@00550cd
// (PrefillAdder), prefill_budget.py@036da26, schedule_batch.py@fd3907e (retract_decode),
// new_token_ratio_tracker.py@1a882c5, batch_result_processor.py@003ddbc. First come, first served; requests
// that stop at the end of their answers (not `ignore_eos`), one token per step; no host tier, and more rows
// for requests than may run.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "reference/literal_radix.h"
#include "state/block_runs.h"

namespace kvcap::reference {

struct SglangOptions {
  int64_t page_size = 1;
  int64_t max_total_num_tokens = 0;  // whole pages
  int64_t max_running_requests = 256;
  int64_t max_prefill_tokens = 16384;
  std::optional<int64_t> chunked_prefill_size;  // whole pages; absent: prompts are not cut
  bool enable_mixed_chunk = false;
  bool disable_radix_cache = false;
  double init_new_token_ratio = 0.7;
};

// What a pass computes of one request.
struct SglangSlice {
  int64_t request = 0;
  int64_t first = 0;  // tokens before it
  int64_t tokens = 0;
  bool yields = false;
  auto operator<=>(const SglangSlice&) const = default;
};

class LiteralSglang {
 public:
  explicit LiteralSglang(const SglangOptions& options);
  ~LiteralSglang();

  // `answer`: the text that it generates.
  void add(int64_t number, const std::vector<TextRun>& prompt, const TextRun& answer);
  // The next batch, in order of the requests' numbers; empty if there is nothing to do. Then its result.
  std::vector<SglangSlice> begin_pass();
  void end_pass();

  std::vector<int64_t> waiting() const;  // numbers, in order
  int64_t retractions() const { return retractions_; }
  int64_t evicted_tokens() const { return radix_.evicted(); }
  double new_token_ratio() const { return ratio_; }

 private:
  struct Req {
    int64_t number = 0;
    std::vector<Token> tokens;  // prompt and answer
    int64_t prompt = 0, max_new_tokens = 0, output = 0;
    int64_t prefix = 0;         // tokens whose keys and values are there when its next slice begins
    int64_t end = 0;            // behind its slice
    int64_t allocated = 0;      // tokens with places in pages
    int64_t protected_len = 0;  // of them, those whose pages are the tree's
    LiteralRadix::Node* last_node = nullptr;
    bool in_chunks = false;  // its slice does not end its prompt

    int64_t known() const { return prompt + output; }
    int64_t remaining() const { return max_new_tokens - output; }
    bool finished() const { return output == max_new_tokens; }
  };
  using Batch = std::vector<Req*>;
  enum class Verdict { goes_on, no_token, other };

  Batch next_batch();
  Batch new_prefill();
  void add_chunked();
  Verdict add_one(Req& req);
  Verdict budget_state() const;
  double remaining_total() const;
  double remaining_current() const;
  void charge(int64_t extend, int64_t max_new_tokens);
  void allocate_prefill();
  Batch decode_running();
  void retract();
  bool has_room_for_decode(const Batch& batch);
  void allocate_decode(const Batch& batch);
  void process(const Batch& batch);
  void stash(Req& req, int64_t tokens);
  void finish(Req& req, bool inserts);
  int64_t clipped(int64_t tokens) const;
  int64_t whole_pages(int64_t tokens) const;
  std::span<const Token> first_tokens(const Req& req, int64_t tokens) const;

  SglangOptions options_;
  LiteralRadix radix_;
  double ratio_, least_ratio_, decay_;
  std::list<Req> requests_;
  std::vector<Req*> waiting_;
  Batch running_, last_;  // last_: of the pass under way, then of the one before
  bool last_was_extend_ = false;
  bool is_full_ = false;  // batch_is_full
  Req* chunked_ = nullptr;
  int64_t retractions_ = 0;

  // Of the prefill batch that is being made (PrefillAdder).
  Batch can_run_;
  double total_offset_ = 0, current_offset_ = 0;
  int64_t rem_input_ = 0;
  std::optional<int64_t> rem_chunk_;
  Batch decoding_;  // of a mixed batch
};

}  // namespace kvcap::reference
