// Question: the scenario that a command asks about. It comes from a file, from an engine's launch line, from
// options such as --gpus 2, or from several of these; later ones override earlier ones.
//
// Without a file the scenario describes the engine as installed: its newest version with the defaults that
// its server has on these GPUs, its own prefix cache without lower tiers, and the longest sequence that fits.
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
// Declares the options. `can_save`: also declares --save.
void add_question(Command& command, QuestionArgs& args, const char* file = "scenario",
                  const char* meaning = kScenarioHelp, bool can_save = true);

// The tier sizes of one setting, as given by --dram and --ssd.
struct Storage {
  struct Size {
    Tier tier;
    double bytes;
    std::string text;  // as given: "100GB"
  };
  std::vector<Size> sizes;  // nearest tier first

  std::string label() const;  // "dram=100GB ssd=2TB"
};

// What a command needs from a question.
struct Asker {
  // True: the command itself handles --dram and --ssd and accepts several sizes. False: only one size per
  // tier is allowed, and Question makes the scenario store in the tiers that have one.
  bool has_sizes = false;
  bool needs_load = true;  // without a file, --rate or --concurrency is required
  // The base scenario of a plan, in place of the file; null: no plan.
  const BaseScenario* plan_base = nullptr;
  // Returns true iff the command itself chooses the field; a launch line then does not set it.
  std::function<bool(const std::string& path)> chooses = {};
};

class Question {
 public:
  // Reads the options. Throws InputError.
  Question(const QuestionArgs& args, const Asker& asker);

  // Returns the scenario with further overrides and with notes on how the question was read. `file`: a
  // scenario file in place of the question's own.
  Scenario load(const Overrides& more = {}, const std::string& file = "") const;

  const std::string& name() const { return base_.path; }  // for messages: a path, or "the command line"
  // Returns the scenario before overrides, and the overrides.
  const BaseScenario& base() const { return base_; }
  Overrides overrides() const;
  // Returns a function that gives the engine's defaults on the GPUs of a scenario
  // (BaseScenario::machine_defaults).
  std::function<std::vector<std::string>(const Scenario&)> machine_defaults() const;
  // Returns the text of a scenario file with everything except --set. REQUIRES: !has_file().
  std::string text_without_set() const;
  const Overrides& set() const { return set_; }
  const Launched& from() const { return from_; }
  bool has_file() const { return base_.text.empty(); }
  // Returns all combinations of the given sizes; empty if none is given.
  const std::vector<Storage>& storages() const { return storages_; }
  // Returns the policies that the engine offers: its prefix cache alone, and its offloading stacks.
  std::vector<std::string> own_policies() const;

  // Writes the scenario to the file of --save, if that is given. `more`: the overrides with which it was
  // loaded. Throws InputError if the file exists with different contents.
  void save(const Scenario& scenario, const Overrides& more = {}) const;

 private:
  Question(const QuestionArgs& args, const Asker& asker, std::optional<LaunchLine> line);
  Overrides options(const QuestionArgs& args, const Asker& asker) const;
  void add_gpus(const QuestionArgs& args, Overrides& all) const;
  void fill_in(const Asker& asker);
  Scenario load_machine() const;
  // Makes the scenario store in the tiers of --dram and --ssd: with its own policy or, if that stores
  // nothing, with the offloading that the engine offers.
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

// Returns the overrides that give the policy's tiers these sizes; empty if the policy can use none of them.
// `place`: the options, for error messages. `chosen`: the tiers to use in place of those of the policy's
// stack.
Overrides storing(std::string_view policy, const Storage& storage, const std::string& place,
                  const std::vector<Tier>& chosen = {});

// Returns the overrides of a setting, followed by those of --set that change parts of tiers that the setting
// replaces. Throws InputError if --set overrides a field that the setting also sets as a whole.
Overrides with_set_tiers(Overrides setting, const Overrides& set);

}  // namespace kvcap
