// The subcommands of kvcap. Each add_ function registers a subcommand, which runs if the command line names
// it. Exit codes: 0 done, 1 internal error, 2 bad input, 3 a check failed, 130 interrupted.
#pragma once

#include <stdexcept>
#include <string>

namespace CLI {
class App;
}

namespace kvcap {

// Thrown if a check that the user asked for fails; the message names the check. Exit code 3.
class CheckFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

void add_run(CLI::App& app);
void add_compare(CLI::App& app);
void add_restore(CLI::App& app);
void add_capacity(CLI::App& app);
void add_sweep(CLI::App& app);
void add_plan(CLI::App& app);
void add_fit(CLI::App& app);
void add_validate(CLI::App& app);
void add_observe(CLI::App& app);
void add_report(CLI::App& app);
void add_serve(CLI::App& app);
void add_whatif(CLI::App& app);
void add_trace(CLI::App& app);
void add_show(CLI::App& app);
void add_completion(CLI::App& app);
void add_man(CLI::App& app);

}  // namespace kvcap
