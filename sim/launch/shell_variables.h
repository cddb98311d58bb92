// ShellVariables: the shell variables that a launch line sets before the engine's program. Replaces them in
// the line's words.
#pragma once

#include <functional>
#include <map>
#include <string>

namespace kvcap {

class ShellVariables {
 public:
  void set(const std::string& name, const std::string& value) { values_[name] = value; }

  // Returns the word with "$TP", "${TP}" and "${TP:-2}" replaced by their values. A variable that is not set
  // is replaced by its default, which is reported through `note`; without a default it stays unchanged.
  std::string expanded(const std::string& word, const std::function<void(const std::string&)>& note) const;

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace kvcap
