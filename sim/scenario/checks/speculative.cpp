// Checks serving.speculative for consistency and against the model.
#include <cstdio>

#include "base/input_error.h"
#include "base/text/note.h"
#include "scenario/checks/checks.h"
#include "scenario/fields.h"
#include "scenario/pools.h"

namespace kvcap {
namespace {

constexpr std::string_view kSpeculative = "serving.speculative";

class SpeculativeCheck {
 public:
  SpeculativeCheck(const Scenario& scenario, const Places& places)
      : scenario_(scenario), options_(*scenario.serving.speculative), places_(places) {}

  void check() const {
    check_method();
    check_acceptance();
    check_batches();
    if (options_.draft_tokens > 0 && scenario_.model.is_recurrent()) {
      fail("draft_tokens", std::to_string(options_.draft_tokens),
           "0 for models with recurrent layers (their state cannot be rolled back after a rejected draft)");
    }
    if (options_.draft_model) check_draft_model(*options_.draft_model);
  }

 private:
  [[noreturn]] void fail(std::string_view name, const std::string& found, const std::string& allowed) const {
    throw InputError(places_.at(below(kSpeculative, name)) + ": found " + found + ", allowed: " + allowed);
  }

  void check_method() const {
    if (options_.draft_layers && options_.method != DraftMethod::layers) {
      fail("draft_layers", std::to_string(*options_.draft_layers),
           "none where serving.speculative.method is not \"layers\"");
    }
    if (options_.draft_model && options_.method != DraftMethod::draft_model) {
      const auto method = static_cast<std::size_t>(options_.method);
      fail("method", "\"" + std::string(names_of(options_.method)[method]) + "\"",
           "\"draft_model\" where serving.speculative.draft_model is given");
    }
  }

  void check_acceptance() const {
    if (options_.acceptance_length && options_.acceptance_rate) {
      fail("acceptance_rate", number_text(*options_.acceptance_rate),
           "none with acceptance_length = " + number_text(*options_.acceptance_length) +
               " (each determines the other)");
    }
    if (options_.acceptance_by_position) check_positions(*options_.acceptance_by_position);
    const auto most = static_cast<double>(options_.draft_tokens + 1);
    if (options_.acceptance_length && *options_.acceptance_length > most) {
      fail("acceptance_length", number_text(*options_.acceptance_length),
           "at most draft_tokens + 1 = " + number_text(most));
    }
  }

  void check_positions(const std::vector<double>& chances) const {
    if (options_.acceptance_length || options_.acceptance_rate) {
      const std::string other = options_.acceptance_length ? "acceptance_length" : "acceptance_rate";
      fail("acceptance_by_position", std::to_string(chances.size()) + " positions",
           "none with " + other + " (each determines the acceptance)");
    }
    for (std::size_t i = 1; i < chances.size(); ++i) {
      if (chances[i] <= chances[i - 1]) continue;
      fail("acceptance_by_position." + std::to_string(i), number_text(chances[i]),
           "at most " + number_text(chances[i - 1]) + ", the probability of the previous position");
    }
  }

  void check_batches() const {
    const std::vector<DraftsOfBatch>& rows = options_.drafts_by_batch;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const int64_t from = rows[i].from_sequences, before = i > 0 ? rows[i - 1].from_sequences : 0;
      if (i == 0 ? from == 1 : from > before) continue;
      fail("drafts_by_batch." + std::to_string(i) + ".from_sequences", std::to_string(from),
           i == 0 ? "1 in the first row" : "more than that of the previous row, " + std::to_string(before));
    }
  }

  void check_draft_model(const ModelSpec& drafter) const {
    check_model(drafter, places_, below(kSpeculative, "draft_model"));
    if (!drafter.is_uniform()) {
      fail("draft_model.layer_groups", std::to_string(drafter.layer_groups.size()) + " groups",
           "none (a drafter's layers are alike)");
    }
    const int64_t size = scenario_.serving.tensor_parallel_size;
    if (drafter.num_attention_heads % size != 0) {
      fail("draft_model.num_attention_heads", std::to_string(drafter.num_attention_heads),
           "a multiple of serving.tensor_parallel_size = " + std::to_string(size));
    }
  }

  const Scenario& scenario_;
  const SpeculativeOptions& options_;
  const Places& places_;
};

std::string acceptance_note(const SpeculativeOptions& options, const ModelSpec& model) {
  const std::string field = std::string(kSpeculative) + ".";
  if (options.acceptance_by_position) {
    const std::size_t given = options.acceptance_by_position->size();
    std::string note = field + "acceptance_by_position is given, not computed";
    if (static_cast<std::size_t>(options.draft_tokens) <= given) return note;
    return noted(NoteKind::assumption, note) + "; positions after the " + std::to_string(given) +
           " given ones continue with the last ratio";
  }
  if (!options.acceptance_length && !options.acceptance_rate) {
    const AssumedAcceptance& assumed = assumed_acceptance(options, model);
    char length[32];
    std::snprintf(length, sizeof length, "%.3g", mean_tokens_of_step(options, model));
    return noted(NoteKind::assumption, field + "acceptance_length ") + length +
           ", the low end of published values for " + std::string(assumed.drafter) + " (" +
           std::string(assumed.source) + "); set it, or " + field + "acceptance_rate or " + field +
           "acceptance_by_position, to the value in your server's log";
  }
  const std::string given = options.acceptance_length
                                ? "acceptance_length " + number_text(*options.acceptance_length)
                                : "acceptance_rate " + number_text(*options.acceptance_rate);
  return field + given + " is given, not computed: it depends on the drafter, the texts and the sampling";
}

}  // namespace

static int64_t most_ranks(const Scenario& scenario) {
  const int64_t ranks = prefill_scenario(scenario).serving.data_parallel_size;
  if (!scenario.fleet.disaggregation) return ranks;
  return std::max(ranks, decode_scenario(scenario).serving.data_parallel_size);
}

void check_speculative(Scenario& scenario, const Places& places) {
  if (!scenario.serving.speculative) return;
  SpeculativeCheck(scenario, places).check();
  SpeculativeOptions& options = *scenario.serving.speculative;
  if (options.draft_tokens == 0) return;
  if (!options.drafts_by_batch.empty() && most_ranks(scenario) > 1) {
    options.drafts_by_batch.clear();
    scenario.notes.push_back(noted(NoteKind::no_effect, kSpeculative) +
                             ".drafts_by_batch: vLLM disables it with data-parallel ranks");
  }
  scenario.notes.push_back(acceptance_note(options, scenario.model));
  if (options.method == DraftMethod::ngram && scenario.serving.async_scheduling) {
    scenario.notes.emplace_back(
        "steps are planned ahead although the host drafts; vLLM disables serving.async_scheduling with "
        "ngram");
  }
}

}  // namespace kvcap
