// The form of kvcap serve: its inputs, which the table of fields describes, what may stand in them, and the
// values that a scenario gives them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kvcap {

struct FormInput {
  std::string_view name;     // in answers; of an input without an option: the path of its field
  std::string_view option;   // of kvcap compare, "--rate"; empty: the field is given with --set
  std::string_view field;    // of the table, for unit, values and meaning; empty: none
  std::string_view group;    // heading above the input
  std::string_view title;    // label
  std::string_view choices;  // list of the catalogue, "models"; empty: none
  std::string_view hint;     // in place of the field's meaning; empty: the field's
};
std::span<const FormInput> form_inputs();
// Returns the input of this name; null: there is none.
const FormInput* form_input(std::string_view name);

// Returns the names of the scenarios that are embedded in the program.
std::vector<std::string> shipped_scenarios();

// Returns the inputs, the lists of the catalogue and the table of fields as JSON. `scenarios`: the names of
// scenarios to start from; the form begins with the first one, or with the demo if that is shipped.
std::string form_json(const std::vector<std::string>& scenarios);

// Returns the values of a scenario by the names of inputs and the paths of fields, hints for inputs that it
// leaves empty, and its policy, as JSON. An empty name is no scenario. Throws InputError.
std::string scenario_values_json(const std::string& scenario);

}  // namespace kvcap
