#include <algorithm>
#include <charconv>

#include "metrics/turn_means.h"
#include "metrics/write.h"

namespace kvcap {
namespace {

// Approximate size of the texts that are passed to `write`.
constexpr std::size_t kPieceBytes = 1 << 20;

// Appends the shortest digits that read back as the same double.
void append(std::string& text, double value) {
  char digits[32];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

void append_latencies(std::string& row, const TurnRecord& turn) {
  const double lookup_s = turn.lookup_s, load_s = turn.load_s, restore_compute_s = turn.restore_compute_s;
  const double prefill_s = turn.service_ttft_s - lookup_s - load_s - restore_compute_s;
  for (double part_s : {turn.ttft_s, queue_s(turn), lookup_s, load_s, restore_compute_s, prefill_s}) {
    row += ',';
    append(row, 1e3 * part_s);
  }
  row += ',';
  if (turn.output_tokens > 1) append(row, 1e3 * (turn.e2el_s - turn.ttft_s) / (turn.output_tokens - 1.0));
  row += ',';
  append(row, 1e3 * turn.e2el_s);
}

void append_row(std::string& text, const TurnRecord& turn) {
  text += std::to_string(turn.session) + ',' + std::to_string(turn.turn) + ',';
  append(text, turn.arrival_s);
  for (uint32_t tokens : {turn.history_tokens, turn.input_tokens, turn.output_tokens, turn.hit_tokens})
    text += ',' + std::to_string(tokens);
  text += ',';
  if (turn.hit_tokens > 0) {
    const auto most = std::max_element(turn.tier_hit_tokens.begin(), turn.tier_hit_tokens.end());
    text += name(kTiers[static_cast<std::size_t>(most - turn.tier_hit_tokens.begin())]);
  }
  text += turn.rejected ? ",1" : ",0";
  text += turn.warmup ? ",1" : ",0";
  if (!turn.answered()) {
    text += ",,,,,,,,";  // never served: no latencies
  } else {
    append_latencies(text, turn);
  }
  text += ',' + std::to_string(turn.node) + ',' + std::to_string(turn.retries) +
          (turn.truncated ? ",1" : ",0") + (turn.failed ? ",1," : ",0,") + std::to_string(turn.abandoned) +
          ',';
  append(text, 1e3 * turn.earlier_s);
  text += ',';
  append(text, 1e3 * turn.api_s);
  text += '\n';
}

}  // namespace

void requests_csv(std::span<const TurnRecord> turns, const std::function<void(std::string_view)>& write) {
  std::string text =
      "session,turn,arrival_s,history_tokens,input_tokens,output_tokens,hit_tokens,hit_tier,rejected,warmup,"
      "ttft_ms,queue_ms,lookup_ms,load_ms,restore_compute_ms,prefill_ms,tpot_ms,e2el_ms,node,retries,"
      "truncated,failed,abandoned,earlier_ms,api_ms\n";
  for (const TurnRecord& turn : turns) {
    append_row(text, turn);
    if (text.size() < kPieceBytes) continue;
    write(text);
    text.clear();
  }
  write(text);
}

}  // namespace kvcap
