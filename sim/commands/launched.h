// --from: a launch line as what a command starts from, and the line of an answer.
#pragma once

#include <string>
#include <vector>

#include "launch/launch_line.h"

namespace kvcap {

// What the line sets, and what its engine takes on the scenario's GPUs where it does not say; the notes go to
// stderr. Nothing where `from` is empty.
std::vector<std::string> launched_overrides(const std::string& from, const std::string& scenario_path,
                                            const std::vector<std::string>& overrides);
// "Launch: vllm serve ...", or that no stack has such a line. Ends with a line end.
std::string launch_text(const Scenario& scenario);

}  // namespace kvcap
