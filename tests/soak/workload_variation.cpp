#include <vector>

#include "policy/table.h"
#include "soak/dice.h"
#include "soak/scenario_generator.h"

namespace kvcap::soak {
namespace {

// Changes a generated workload in place.
class Variation {
 public:
  Variation(Workload& workload, uint64_t number) : workload_(workload), dice_(number, "soak workload") {}

  void add_documents() {
    if (!dice_.chance(0.35)) return;
    const int64_t documents = dice_.between(1, 4);
    std::vector<uint32_t> tokens;
    for (int64_t i = 0; i < documents; ++i) {
      tokens.push_back(static_cast<uint32_t>(dice_.tokens(1, 3000)));
    }
    for (Session& session : workload_.sessions) {
      if (session.document != kOwnContext || dice_.chance(0.2)) continue;
      const int64_t document = dice_.between(0, documents - 1);
      session.document = static_cast<uint32_t>(document);
      session.context_tokens = tokens[static_cast<std::size_t>(document)];
      session.history_grows = !dice_.chance(0.1);
    }
  }

  void add_branches() {
    if (!dice_.chance(0.3)) return;
    const double straight = dice_.within(0, 1);
    for (const Session& session : workload_.sessions) {
      workload_.parents.push_back(kNoParent);
      for (int64_t turn = 1; turn < session.turn_count; ++turn) {
        const int64_t parent = dice_.chance(straight) ? turn - 1 : dice_.between(-1, turn - 1);
        workload_.parents.push_back(static_cast<int32_t>(parent));
      }
    }
  }

  // A piece is the same text in every turn and so has one length.
  void add_pieces() {
    if (!dice_.chance(0.35)) return;
    const int64_t texts = dice_.between(1, 30);
    std::vector<uint32_t> tokens;
    for (int64_t i = 0; i < texts; ++i) tokens.push_back(static_cast<uint32_t>(dice_.tokens(1, 600)));
    workload_.piece_keys = PieceKeys::text;
    workload_.piece_begin.push_back(0);
    for (Turn& turn : workload_.turns) {
      for (int64_t i = dice_.between(-1, 4); i > 0; --i) {
        const auto text = static_cast<std::size_t>(dice_.between(0, texts - 1));
        workload_.pieces.push_back({1000 + text, tokens[text]});
        // Some end within the input, some within the answer.
        if (dice_.chance(0.9))
          turn.input_tokens += tokens[text];
        else
          turn.output_tokens += tokens[text];
      }
      workload_.piece_begin.push_back(workload_.pieces.size());
    }
  }

 private:
  Workload& workload_;
  Dice dice_;
};

}  // namespace

void vary(Workload& workload, const PolicyOptions& policy, uint64_t number) {
  Variation variation(workload, number);
  // Only turns without shared texts can be divided into calls.
  if (with_preset(policy).calls.value_or(Calls::single) != Calls::single) return;
  variation.add_documents();
  variation.add_branches();
  if (workload.piece_begin.empty()) variation.add_pieces();
}

}  // namespace kvcap::soak
