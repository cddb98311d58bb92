// A subcommand as it is declared: its arguments, options and flags, each bound to a variable that parsing
// fills, an example for --help, and what it does when chosen. A name without dashes is an argument by
// position.
//
// CLI11 parses; it costs seconds in every file that includes it, so the commands declare themselves here.
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

// What was declared, for what more is asked of it.
class Declared {
 public:
  explicit Declared(CLI::Option* option) : option_(option) {}
  Declared& required();
  // --help shows the value that the variable has now.
  Declared& with_default();
  Declared& within(int least, int most);
  Declared& one_of(std::vector<std::string> allowed);

 private:
  CLI::Option* option_;
};

class Command {
 public:
  Command(CLI::App& app, const std::string& name, const std::string& meaning);

  // REQUIRES for all: `to` outlives the parsing.
  Declared value(const std::string& name, std::string& to, const std::string& meaning);
  Declared value(const std::string& name, int& to, const std::string& meaning);
  Declared value(const std::string& name, int64_t& to, const std::string& meaning);
  Declared value(const std::string& name, double& to, const std::string& meaning);
  Declared value(const std::string& name, std::optional<int64_t>& to, const std::string& meaning);
  // All that follow up to the next option: --before a b.
  Declared values(const std::string& name, std::vector<std::string>& to, const std::string& meaning);
  // One each time it is given: --set a --set b.
  Declared repeated(const std::string& name, std::vector<std::string>& to, const std::string& meaning);
  void flag(const std::string& name, bool& to, const std::string& meaning);

  // What --help ends with. A function is called only then.
  void footer(const std::string& text);
  void footer(std::function<std::string()> text);
  void runs(std::function<void()> work);

 private:
  CLI::App* app_;
};

}  // namespace kvcap
