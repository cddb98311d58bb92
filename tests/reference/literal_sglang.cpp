#include "reference/literal_sglang.h"

#include <algorithm>
#include <cmath>

namespace kvcap::reference {
namespace {

constexpr int64_t kClipMaxNewTokens = 4096;
constexpr double kMinRatioFactor = 0.14;
constexpr double kDecaySteps = 600;
constexpr int64_t kRetractDecodeSteps = 20;

}  // namespace

LiteralSglang::LiteralSglang(const SglangOptions& options)
    : options_(options),
      radix_(options.max_total_num_tokens, options.page_size, !options.disable_radix_cache),
      ratio_(options.init_new_token_ratio),
      least_ratio_(ratio_ * kMinRatioFactor),
      decay_((ratio_ - least_ratio_) / kDecaySteps) {}

LiteralSglang::~LiteralSglang() = default;

void LiteralSglang::add(int64_t number, const std::vector<TextRun>& prompt, const TextRun& answer) {
  Req& req = requests_.emplace_back();
  req.number = number;
  const auto append = [&req](const TextRun& run) {
    for (int64_t i = 0; i < run.tokens; ++i) req.tokens.push_back({run.text, run.first + i});
  };
  for (const TextRun& run : prompt) append(run);
  req.prompt = std::ssize(req.tokens);
  req.max_new_tokens = answer.tokens;
  append(answer);
  waiting_.push_back(&req);
}

std::vector<int64_t> LiteralSglang::waiting() const {
  std::vector<int64_t> numbers;
  for (const Req* req : waiting_) numbers.push_back(req->number);
  return numbers;
}

std::vector<SglangSlice> LiteralSglang::begin_pass() {
  // A pass without a batch takes no time; the one after it may have one.
  Batch batch = next_batch();
  if (batch.empty()) {
    last_.clear();
    last_was_extend_ = false;
    batch = next_batch();
  }
  if (batch.empty() && waiting_.empty()) ratio_ = options_.init_new_token_ratio;
  std::vector<SglangSlice> slices;
  for (const Req* req : batch) {
    slices.push_back({req->number, req->prefix, req->end - req->prefix, !req->in_chunks});
  }
  std::sort(slices.begin(), slices.end());
  last_ = batch;
  return slices;
}

void LiteralSglang::end_pass() { process(last_); }

// ---- one pass ----

LiteralSglang::Batch LiteralSglang::next_batch() {
  if (chunked_ != nullptr) stash(*chunked_, chunked_->end);
  if (last_was_extend_) {
    const auto leaves = [this](const Req* req) { return req->finished() || req == chunked_; };
    if (std::erase_if(last_, leaves) > 0) is_full_ = false;
    running_.insert(running_.end(), last_.begin(), last_.end());
  }
  Batch batch = new_prefill();
  last_was_extend_ = !batch.empty();
  return batch.empty() ? decode_running() : batch;
}

LiteralSglang::Batch LiteralSglang::new_prefill() {
  can_run_.clear();
  decoding_.clear();
  if ((is_full_ || waiting_.empty()) && chunked_ == nullptr) return {};
  const int64_t allocatable = options_.max_running_requests - std::ssize(running_);
  if (allocatable <= 0 && chunked_ == nullptr) {
    is_full_ = true;
    return {};
  }
  const int64_t mixed = options_.enable_mixed_chunk ? std::ssize(running_) : 0;
  rem_input_ = options_.max_prefill_tokens - mixed;
  rem_chunk_ = options_.chunked_prefill_size;
  if (rem_chunk_) *rem_chunk_ -= mixed;
  total_offset_ = current_offset_ = static_cast<double>(mixed);
  double answers = 0;
  for (const Req* req : running_) answers += static_cast<double>(clipped(req->remaining())) * ratio_;
  total_offset_ += answers;
  if (chunked_ != nullptr) add_chunked();
  for (Req* req : waiting_) {
    if (std::ssize(can_run_) >= allocatable) is_full_ = true;
    if (is_full_) break;
    const Verdict verdict = add_one(*req);
    if (verdict == Verdict::no_token) is_full_ = true;
    if (verdict != Verdict::goes_on) break;
  }
  if (can_run_.empty()) return {};
  std::erase_if(waiting_, [this](Req* req) {
    return std::find(can_run_.begin(), can_run_.end(), req) != can_run_.end();
  });
  allocate_prefill();
  Batch batch = can_run_;
  if (options_.enable_mixed_chunk) {
    std::erase_if(running_, [](const Req* req) { return req->finished(); });
    allocate_decode(running_);
    decoding_ = running_;
    batch.insert(batch.end(), running_.begin(), running_.end());
    running_.clear();
  }
  return batch;
}

// The request whose prompt was cut goes on.
void LiteralSglang::add_chunked() {
  Req& req = *chunked_;
  const int64_t available = std::min(*rem_chunk_, static_cast<int64_t>(remaining_total()));
  const int64_t limit = available > 0 ? available : *rem_chunk_;
  const int64_t left = req.known() - req.prefix;
  req.in_chunks = left > limit;
  req.end = req.prefix + std::min(left, limit);
  can_run_.push_back(&req);
  charge(req.end - req.prefix, req.in_chunks ? 0 : clipped(req.max_new_tokens));
  if (!req.in_chunks) chunked_ = nullptr;
}

LiteralSglang::Verdict LiteralSglang::add_one(Req& req) {
  const LiteralRadix::Match found = radix_.match(first_tokens(req, req.known() - 1));
  const int64_t extend = req.known() - found.tokens;
  const int64_t total = extend + clipped(std::max<int64_t>(0, req.remaining())) + options_.page_size;
  radix_.lock(found.last);
  const auto stop = [&](Verdict verdict) {
    radix_.unlock(found.last);
    return verdict;
  };
  if (static_cast<double>(total) >= remaining_total()) return stop(Verdict::no_token);
  const int64_t input = whole_pages(extend);
  if (!rem_chunk_ && !can_run_.empty() && input >= rem_input_) return stop(Verdict::other);
  int64_t tokens = extend;
  const bool is_cut = rem_chunk_ && input > *rem_chunk_;
  if (is_cut) {
    const int64_t page = options_.page_size;
    tokens = *rem_chunk_ / page * page;
    tokens = (found.tokens + tokens) / page * page - found.tokens;
    if (tokens <= 0) return stop(Verdict::other);
  }
  req.prefix = req.protected_len = found.tokens;
  req.allocated = found.tokens;
  req.last_node = found.last;
  req.end = req.prefix + tokens;
  req.in_chunks = is_cut;
  can_run_.push_back(&req);
  if (is_cut) {
    KVCAP_CHECK(chunked_ == nullptr);
    chunked_ = &req;
  }
  charge(tokens, is_cut ? 0 : clipped(req.max_new_tokens));
  return budget_state();
}

LiteralSglang::Verdict LiteralSglang::budget_state() const {
  if (remaining_total() <= 0 || remaining_current() <= 0) return Verdict::no_token;
  if (rem_input_ <= 0 || (rem_chunk_ && *rem_chunk_ <= 0)) return Verdict::other;
  return Verdict::goes_on;
}

double LiteralSglang::remaining_total() const {
  return static_cast<double>(radix_.available() + radix_.evictable()) - total_offset_;
}
double LiteralSglang::remaining_current() const {
  return static_cast<double>(radix_.available() + radix_.evictable()) - current_offset_;
}

void LiteralSglang::charge(int64_t extend, int64_t max_new_tokens) {
  const int64_t input = whole_pages(extend);
  const int64_t at_once = input + options_.page_size;
  total_offset_ += static_cast<double>(at_once + max_new_tokens);
  current_offset_ += static_cast<double>(at_once);
  rem_input_ -= input;
  if (rem_chunk_) *rem_chunk_ -= input;
}

void LiteralSglang::allocate_prefill() {
  int64_t tokens = 0;
  for (const Req* req : can_run_) {
    tokens += req->end - req->prefix + (options_.page_size > 1 ? options_.page_size : 0);
  }
  radix_.evict_for(tokens);
  for (Req* req : can_run_) {
    radix_.take(whole_pages(req->end) - whole_pages(req->allocated));
    req->allocated = req->end;
  }
}

// ---- decodes ----

LiteralSglang::Batch LiteralSglang::decode_running() {
  const std::size_t before = running_.size();
  std::erase_if(running_, [](const Req* req) { return req->finished(); });
  if (running_.empty()) {
    if (before > 0) is_full_ = false;
    return {};
  }
  if (!has_room_for_decode(running_)) {
    retract();
  } else {
    ratio_ = std::max(ratio_ - decay_, least_ratio_);
  }
  if (running_.size() < before) is_full_ = false;
  allocate_decode(running_);
  return running_;
}

bool LiteralSglang::has_room_for_decode(const Batch& batch) {
  int64_t tokens = 0;
  for (const Req* req : batch) {
    if ((req->known() - 1) % options_.page_size == 0) tokens += options_.page_size;
  }
  radix_.evict_for(tokens);
  return radix_.available() >= tokens;
}

// Retracts those with the shortest answers first, and of equal ones those with the longest prompts.
void LiteralSglang::retract() {
  std::stable_sort(running_.begin(), running_.end(), [](const Req* a, const Req* b) {
    return std::pair(a->output, -a->prompt) > std::pair(b->output, -b->prompt);
  });
  bool is_first = true;
  while ((is_first || !has_room_for_decode(running_)) && running_.size() > 1) {
    is_first = false;
    Req& req = *running_.back();
    running_.pop_back();
    finish(req, false);
    radix_.evict_for(std::ssize(running_) * kRetractDecodeSteps);
    req.last_node = nullptr;
    waiting_.push_back(&req);
    ++retractions_;
  }
  int64_t decoded = 0, most = 0;
  for (const Req* req : running_) {
    decoded += req->output + kRetractDecodeSteps;
    most += req->max_new_tokens;
  }
  ratio_ = std::min(1.0, static_cast<double>(decoded) / static_cast<double>(most + 1));
}

void LiteralSglang::allocate_decode(const Batch& batch) {
  const int64_t page = options_.page_size;
  if (!batch.empty()) radix_.evict_for(std::ssize(batch) * page);
  for (Req* req : batch) {
    req->prefix = req->known() - 1;
    req->end = req->known();
    req->in_chunks = false;
    radix_.take(whole_pages(req->end) - whole_pages(req->allocated));
    req->allocated = req->end;
  }
}

// ---- results ----

void LiteralSglang::process(const Batch& batch) {
  for (Req* req : batch) {
    if (req->in_chunks) continue;
    const bool decoded =
        !last_was_extend_ || std::find(decoding_.begin(), decoding_.end(), req) != decoding_.end();
    ++req->output;
    if (req->finished()) {
      finish(*req, true);
    } else if (!decoded) {
      stash(*req, req->end);
    }
  }
}

// Puts the whole pages of its first `tokens` tokens into the tree, and gives back those that are there twice.
void LiteralSglang::stash(Req& req, int64_t tokens) {
  req.prefix = tokens;
  if (options_.disable_radix_cache) return;
  const std::span<const Token> all = first_tokens(req, tokens);
  const std::span<const Token> key = all.first(radix_.aligned(all));
  const int64_t found = radix_.insert(key);
  radix_.give_back(std::max<int64_t>(0, found - req.protected_len));
  const LiteralRadix::Match match = radix_.match(key);
  req.protected_len = match.tokens;
  radix_.unlock(req.last_node);
  radix_.lock(match.last);
  req.last_node = match.last;
}

void LiteralSglang::finish(Req& req, bool inserts) {
  const int64_t tokens = req.known() - 1;
  int64_t kept = req.protected_len;
  if (inserts && !options_.disable_radix_cache) {
    const std::span<const Token> all = first_tokens(req, tokens);
    const std::span<const Token> key = all.first(radix_.aligned(all));
    const int64_t found = radix_.insert(key);
    radix_.give_back(std::max<int64_t>(0, found - req.protected_len));
    kept = std::ssize(key);
  }
  radix_.give_back(whole_pages(req.allocated) - kept);
  radix_.unlock(req.last_node);
  req.allocated = req.protected_len = 0;
}

// ---- small things ----

int64_t LiteralSglang::clipped(int64_t tokens) const { return std::min(tokens, kClipMaxNewTokens); }

int64_t LiteralSglang::whole_pages(int64_t tokens) const {
  const int64_t page = options_.page_size;
  return (tokens + page - 1) / page * page;
}

std::span<const Token> LiteralSglang::first_tokens(const Req& req, int64_t tokens) const {
  return std::span(req.tokens).first(static_cast<std::size_t>(tokens));
}

}  // namespace kvcap::reference
