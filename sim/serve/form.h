// Describes the form of kvcap serve: its inputs, their allowed values, and the values that a scenario gives
// them. Most descriptions come from the table of scenario fields.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kvcap {

struct FormInput {
  std::string_view name;     // key of the answer; for an input without an option, the path of the field
  std::string_view option;   // option of kvcap compare: "--rate"; empty: the field is set with --set
  std::string_view field;    // scenario field that gives unit, values and meaning; empty: none
  std::string_view group;    // heading above the input
  std::string_view title;    // label
  std::string_view choices;  // list of choices from the catalogue: "models"; empty: none
  std::string_view hint;     // text below the input; empty: the field's meaning
};
std::span<const FormInput> form_inputs();
// Returns the input with this name; null if there is none.
const FormInput* form_input(std::string_view name);

// Returns the names of the scenarios embedded in the program.
std::vector<std::string> shipped_scenarios();

// Returns the inputs, their choices and the table of fields as JSON. `scenarios`: the names of the scenarios
// to start from; the form initially shows the first one, or the demo if the first one is shipped with the
// program.
std::string form_json(const std::vector<std::string>& scenarios);

// Returns as JSON the values of a scenario, by the names of inputs and the paths of fields; hints for the
// inputs that stay empty; and the policy of the scenario. An empty name stands for no scenario. Throws
// InputError.
std::string scenario_values_json(const std::string& scenario);

}  // namespace kvcap
