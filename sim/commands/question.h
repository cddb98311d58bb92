// Question: the scenario that a command asks about. It comes from a file, from an engine's launch line, from
// options such as --gpus 2, or from several of these; later ones override earlier ones.
//
// Without a file the scenario is the engine as installed: its newest version with a server's defaults on
// these GPUs, its own prefix cache, no tier below it, and the longest sequence that the machine holds.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/tier.h"
#include "commands/command_line.h"
#include "commands/launched.h"
#include "scenario/load.h"

namespace kvcap {

struct QuestionArgs {
  std::string file;  // empty: none
  FromArgs from;
  std::string model, hardware, engine, workload, columns;
  std::optional<int64_t> gpus, concurrency;
  std::optional<double> requests_per_s;
  std::string dram, ssd;  // sizes separated by commas: "100GB,250GB"
  std::string save;
  std::vector<std::string> set;
  std::string prices;
};
// Declares the options. `can_save`: --save, too.
void add_question(Command& command, QuestionArgs& args, const char* file = "scenario",
                  const char* meaning = kScenarioHelp, bool can_save = true);

// Sizes of the tiers of one setting, by --dram and --ssd.
struct Storage {
  struct Size {
    Tier tier;
    double bytes;
    std::string text;  // as given: "100GB"
  };
  std::vector<Size> sizes;  // from the nearest tier

  std::string label() const;  // "dram=100GB ssd=2TB"
};

// What a command does with a question.
struct Asker {
  bool has_sizes = false;  // takes several sizes of --dram and --ssd; others store in the one that is given
  bool needs_load = true;  // without a file, --rate or --concurrency has to be given
  // A plan over this base instead of the file; null: no plan.
  const BaseScenario* plan_base = nullptr;
  // True iff the command itself chooses the field, so that launch lines do not set it.
  std::function<bool(const std::string& path)> chooses = {};
};

class Question {
 public:
  // Reads the options. Throws InputError.
  Question(const QuestionArgs& args, const Asker& asker);

  // Returns the scenario with more overrides and with notes on how the question was read. `file`: in place of
  // the question's own.
  Scenario load(const Overrides& more = {}, const std::string& file = "") const;

  const std::string& name() const { return base_.path; }  // in messages: a path, or "the command line"
  // Returns the scenario before overrides, and the overrides.
  const BaseScenario& base() const { return base_; }
  Overrides overrides() const;
  // Returns the defaults of the engine that depend on the GPUs of a scenario
  // (BaseScenario::machine_defaults).
  std::function<std::vector<std::string>(const Scenario&)> machine_defaults() const;
  // Returns a scenario file with everything but --set. REQUIRES: there is no file.
  std::string text_without_set() const;
  const Overrides& set() const { return set_; }
  const Launched& from() const { return from_; }
  bool has_file() const { return base_.text.empty(); }
  // Combinations of the given sizes; empty: none given.
  const std::vector<Storage>& storages() const { return storages_; }
  // Returns the policies that the engine brings: its prefix cache alone, and its stacks.
  std::vector<std::string> own_policies() const;

  // Writes the scenario of --save, if given, with more overrides. Throws InputError if the file may not be
  // replaced.
  void save(const Scenario& scenario, const Overrides& more = {}) const;

 private:
  Question(const QuestionArgs& args, const Asker& asker, std::optional<LaunchLine> line);
  Overrides options(const QuestionArgs& args, const Asker& asker) const;
  void add_gpus(const QuestionArgs& args, Overrides& all) const;
  void fill_in(const Asker& asker);
  Scenario load_machine() const;
  // Stores in the tiers of --dram and --ssd: by the policy or, if it stores nothing, by the engine's own
  // offloading.
  void store();
  void require_options(const Asker& asker) const;
  std::string text_of(const Scenario& scenario, const Overrides& written) const;

  QuestionArgs args_;
  BaseScenario base_;
  Overrides options_, set_;
  Launched from_;
  std::vector<Storage> storages_;
  std::vector<std::string> notes_;
};

// Returns "--model M --gpu G ...", the options of a question without a file.
std::string options_text(const QuestionArgs& args);

// Returns the overrides that give a policy these sizes: its stack's tiers, of those that it can use. Empty if
// the policy stores nothing.
// `chosen`: the tiers to use in place of the stack's.
Overrides storing(std::string_view policy, const Storage& storage, const std::string& place,
                  const std::vector<Tier>& chosen = {});

// Returns the overrides of a setting and after them those of --set that change parts of the tiers that the
// setting replaces. Throws InputError if both choose the policy or all tiers.
Overrides with_set_tiers(Overrides setting, const Overrides& set);

}  // namespace kvcap
