#include "reference/random_requests.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "reference/dice.h"

namespace kvcap::reference {
namespace {

class RequestGenerator {
 public:
  explicit RequestGenerator(uint64_t number) : dice_(number * 7919 + 17), number_(number) {}

  RandomCase generate() {
    options_.block_size = dice_.pick({1, 4, 16});
    options_.max_num_seqs = dice_.pick({1, 4, 16, 64, 64});
    options_.max_num_batched_tokens = dice_.pick({8, 32, 100, 512, 4096});
    options_.step_overhead_s = dice_.within(0.002, 0.02);
    options_.step_overhead_per_sequence_s = dice_.chance(0.7) ? dice_.within(0.0001, 0.002) : 0;
    options_.async_scheduling = number_ % 2 == 0;
    options_.prefix_caching = dice_.chance(0.85);
    options_.cache_generated = dice_.chance(0.8);

    // Texts that several prompts begin with or contain.
    for (int64_t left = dice_.between(2, 6); left > 0; --left) shared_.push_back({next_text_++, length()});
    const int64_t events = dice_.between(8, 25);
    const double mean_gap_s = dice_.within(0.5, 15) * options_.step_overhead_s;
    for (int64_t i = 0; i < events; ++i) {
      arrive();
      now_s_ += dice_.within(0, 2 * mean_gap_s);
    }
    std::stable_sort(requests_.begin(), requests_.end(), [](const Request& one, const Request& other) {
      return one.arrival_s < other.arrival_s;
    });
    number_in_order();
    options_.blocks = pool_blocks();
    return {options_, requests_};
  }

 private:
  void arrive() {
    const double kind = dice_.within(0, 1);
    if (kind < 0.2) {
      burst();
    } else if (kind < 0.5 && !requests_.empty()) {
      add(next_turn());
    } else {
      add(prompt());
    }
  }

  // Requests with one prefix at one time or shortly after one another.
  void burst() {
    const std::vector<TextPart> prefix = prompt();
    const double apart_s = dice_.chance(0.5) ? 0 : options_.step_overhead_s * dice_.within(0, 0.7);
    for (int64_t left = dice_.between(2, 8); left > 0; --left) {
      std::vector<TextPart> own = prefix;
      if (dice_.chance(0.8)) own.push_back({next_text_++, dice_.between(1, 2 * options_.block_size + 3)});
      add(std::move(own));
      now_s_ += apart_s;
    }
  }

  // Whole shared texts or first parts of them, and mostly something of its own behind.
  std::vector<TextPart> prompt() {
    std::vector<TextPart> parts;
    for (int64_t left = dice_.between(0, 3); left > 0; --left) {
      TextPart part = shared_[static_cast<std::size_t>(dice_.between(0, std::ssize(shared_) - 1))];
      if (dice_.chance(0.4)) part.tokens = dice_.between(1, part.tokens);
      parts.push_back(part);
    }
    if (parts.empty() || dice_.chance(0.7)) parts.push_back({next_text_++, length()});
    return parts;
  }

  // An earlier prompt, mostly with its whole answer, and something new; perhaps before that answer is
  // complete.
  std::vector<TextPart> next_turn() {
    const int64_t last = std::ssize(requests_) - 1;
    const Request& before =
        requests_[static_cast<std::size_t>(dice_.between(std::max(int64_t{0}, last - 6), last))];
    if (prompt_tokens(before) > 600) return prompt();
    std::vector<TextPart> parts = before.prompt;
    parts.push_back({answer_text(before.id),
                     dice_.chance(0.8) ? before.output_tokens : dice_.between(1, before.output_tokens)});
    if (dice_.chance(0.9)) parts.push_back({next_text_++, dice_.between(1, 40)});
    return parts;
  }

  void add(std::vector<TextPart> prompt) {
    const int64_t output = dice_.chance(0.2) ? 1 : dice_.between(1, dice_.chance(0.4) ? 120 : 30);
    requests_.push_back({std::ssize(requests_), now_s_, std::move(prompt), output});
  }

  // Ids follow the order of arrival; prompts that contain answers go on to contain them.
  void number_in_order() {
    std::vector<std::pair<Key, Key>> renamed;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      renamed.emplace_back(answer_text(requests_[i].id), answer_text(static_cast<int64_t>(i)));
      requests_[i].id = static_cast<int64_t>(i);
    }
    for (Request& request : requests_) {
      for (TextPart& part : request.prompt) {
        const auto found = std::find_if(renamed.begin(), renamed.end(),
                                        [&part](const auto& names) { return names.first == part.text; });
        if (found != renamed.end()) part.text = found->second;
      }
    }
  }

  // From too small for the longest request up to room for all.
  int64_t pool_blocks() {
    int64_t longest = 1, all = 0;
    for (const Request& request : requests_) {
      const int64_t blocks = (prompt_tokens(request) + request.output_tokens - 1 + options_.block_size - 1) /
                             options_.block_size;
      longest = std::max(longest, blocks);
      all += blocks;
    }
    const double kind = dice_.within(0, 1);
    if (kind < 0.12) return std::max(int64_t{1}, longest * dice_.between(50, 99) / 100);
    if (kind < 0.4) return longest;
    if (kind < 0.85) return longest + dice_.between(0, 2 * longest);
    return all;
  }

  int64_t length() {
    const int64_t block = options_.block_size;
    return dice_.chance(0.3)   ? dice_.between(1, 4) * block
           : dice_.chance(0.2) ? dice_.between(100, 400)
                               : dice_.between(1, 5 * block + 20);
  }

  Dice dice_;
  uint64_t number_;
  EngineOptions options_;
  std::vector<TextPart> shared_;
  std::vector<Request> requests_;
  Key next_text_ = 1;
  double now_s_ = 0;
};

}  // namespace

RandomCase random_case(uint64_t number) { return RequestGenerator(number).generate(); }

std::string describe(const EngineOptions& options) {
  std::ostringstream text;
  text << options.blocks << " blocks of " << options.block_size << " tokens, " << options.max_num_seqs
       << " sequences, " << options.max_num_batched_tokens << " tokens a step"
       << (options.prefix_caching ? "" : ", no prefix caching")
       << (options.async_scheduling ? ", async" : ", sync")
       << (options.cache_generated ? "" : ", answers not cached");
  return text.str();
}

}  // namespace kvcap::reference
