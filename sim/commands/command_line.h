// Command declares a subcommand of kvcap: its arguments, options and flags, the example that --help prints,
// and the function that it runs. Parsing the command line stores each value in the variable that the
// declaration names. A name without dashes declares a positional argument.
//
// CLI11 parses the command line. It adds seconds to the compilation of every file that includes it, so
// commands use this header instead.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace kvcap {

inline constexpr const char* kScenarioHelp =
    "scenario file (JSON), or a shipped one by its name: demo, agents";

// Returns the items of "a, b,c" without spaces around them; an empty list has one empty item.
std::vector<std::string> list_items(const std::string& list);
// Like list_items(), but throws InputError for an empty or repeated item. `option`: its name, for the
// message.
std::vector<std::string> distinct_items(const std::string& option, const std::string& list);

// A declared argument or option. Its functions add constraints and defaults to the declaration.
class Declared {
 public:
  explicit Declared(CLI::Option* option) : option_(option) {}
  Declared& required();
  // --help shows the current value of the variable as the default.
  Declared& with_default();
  Declared& hidden();                     // left out of --help
  Declared& within(int least, int most);  // REQUIRES: an integer
  Declared& one_of(std::vector<std::string> allowed);

 private:
  CLI::Option* option_;
};

class Command {
 public:
  Command(CLI::App& app, const std::string& name, const std::string& meaning);

  // Declare arguments or options whose value is stored in `to`. REQUIRES, here and below: `to` outlives the
  // parsing.
  Declared value(const std::string& name, std::string& to, const std::string& meaning);
  Declared value(const std::string& name, int& to, const std::string& meaning);
  Declared value(const std::string& name, int64_t& to, const std::string& meaning);
  Declared value(const std::string& name, double& to, const std::string& meaning);
  Declared value(const std::string& name, std::optional<int64_t>& to, const std::string& meaning);
  Declared value(const std::string& name, std::optional<double>& to, const std::string& meaning);
  // Declares an option that takes all values up to the next option: --before a b.
  Declared values(const std::string& name, std::vector<std::string>& to, const std::string& meaning);
  // Declares an option that may be repeated, with one value each time: --set a --set b.
  Declared repeated(const std::string& name, std::vector<std::string>& to, const std::string& meaning);
  void flag(const std::string& name, bool& to, const std::string& meaning);

  // Sets the text at the end of --help. A function is called only if --help is given.
  void footer(const std::string& text);
  void footer(std::function<std::string()> text);
  void runs(std::function<void()> work);

 private:
  CLI::App* app_;
};

}  // namespace kvcap
