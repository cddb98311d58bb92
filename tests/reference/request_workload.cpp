#include "reference/request_workload.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

namespace kvcap::reference {
namespace {

// The texts of a request: those of its prompt, then its answer.
std::vector<TextPart> texts_of(const Request& request) {
  std::vector<TextPart> texts = request.prompt;
  texts.push_back({answer_text(request.id), request.output_tokens});
  return texts;
}

class Cuts {
 public:
  explicit Cuts(std::span<const Request> requests) {
    for (const Request& request : requests) {
      for (const TextPart& part : texts_of(request)) ends_[part.text].insert(part.tokens);
    }
  }

  // The pieces of a text's first `tokens` tokens.
  void append(const TextPart& part, std::vector<Piece>& pieces) const {
    int64_t begin = 0;
    for (const int64_t end : ends_.at(part.text)) {
      if (begin == part.tokens) return;
      pieces.push_back({key(part.text, begin), static_cast<uint32_t>(end - begin)});
      begin = end;
    }
  }

 private:
  static uint64_t key(Key text, int64_t begin) { return (text << 20) + static_cast<uint64_t>(begin); }

  std::map<Key, std::set<int64_t>> ends_;
};

}  // namespace

Workload to_workload(std::span<const Request> requests) {
  const Cuts cuts(requests);
  Workload workload;
  workload.absolute_times = true;
  workload.piece_keys = PieceKeys::text;
  workload.piece_begin.push_back(0);
  for (const Request& request : requests) {
    workload.sessions.push_back({.first_turn = static_cast<uint32_t>(workload.turns.size()),
                                 .turn_count = 1,
                                 .priority = static_cast<int16_t>(request.priority)});
    workload.turns.push_back({.input_tokens = static_cast<uint32_t>(prompt_tokens(request)),
                              .output_tokens = static_cast<uint32_t>(request.output_tokens),
                              .time_s = request.arrival_s});
    for (const TextPart& part : texts_of(request)) cuts.append(part, workload.pieces);
    workload.piece_begin.push_back(workload.pieces.size());
  }
  return workload;
}

std::string to_sessions_jsonl(std::span<const Request> requests) {
  const Workload workload = to_workload(requests);
  std::string lines;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    nlohmann::json pieces = nlohmann::json::array();
    for (const Piece& piece : workload.pieces_of(i)) pieces.push_back({piece.key, piece.tokens});
    const Turn& turn = workload.turns[i];
    const nlohmann::json row = {{"id", requests[i].id},
                                {"piece_keys", "text"},
                                {"turns",
                                 {{{"arrival_s", turn.time_s},
                                   {"input_tokens", turn.input_tokens},
                                   {"output_tokens", turn.output_tokens},
                                   {"pieces", pieces}}}}};
    lines += row.dump() + "\n";
  }
  return lines;
}

GpuTime gpu_time(const StepTime& step_time, const Speculation* speculation) {
  return [&step_time, speculation](std::span<const SliceOfStep> step) {
    std::vector<PrefillChunk> chunks;
    Decodes decodes;
    int64_t sampled = 0;
    for (const SliceOfStep& slice : step) {
      if (slice.yields_token) sampled += 1 + slice.drafts;
      if (slice.is_decode) {
        ++decodes.sequences;
        decodes.context_tokens += slice.cached_tokens + slice.tokens;
        decodes.drafts += slice.drafts;
      } else {
        chunks.push_back({.new_tokens = slice.tokens, .cached_tokens = slice.cached_tokens});
      }
    }
    const double drafter_s = speculation ? speculation->drafter_s(chunks, decodes) : 0;
    return step_time.mixed_s(chunks, decodes, sampled) + drafter_s;
  };
}

}  // namespace kvcap::reference
