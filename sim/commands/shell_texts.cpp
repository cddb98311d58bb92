#include "commands/shell_texts.h"

#include <algorithm>

#include "base/text/joined.h"

namespace kvcap {
namespace {

// Puts a backslash in front of each character of `special`.
std::string escaped(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

// Puts the text between single quotes; a quote inside becomes '\''.
std::string single_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// Returns the text up to the first ":", ";" or "(", for one line of a menu.
std::string short_meaning(const std::string& meaning) {
  return meaning.substr(0, meaning.find_first_of(":;("));
}

std::vector<std::string> field_words(const ProgramText& program) {
  std::vector<std::string> words;
  for (const FieldHelp& field : program.fields) words.push_back(field.path + "=");
  return words;
}

bool takes_field(const OptionText& option) { return option.name == "--set" || option.name == "--over"; }

OptionValues values_of(const ProgramText& program, const OptionText& option) {
  if (!option.allowed.empty()) return {option.allowed, false};
  const auto named = program.names.find(option.name);
  return named == program.names.end() ? OptionValues() : named->second;
}

std::vector<std::string> command_names(const ProgramText& program) {
  std::vector<std::string> names;
  for (const CommandText& command : program.commands) names.push_back(command.name);
  return names;
}

// If COMP_WORDBREAKS contains "=" (the default), bash splits --option=value into three words. Otherwise
// --option=value is one word, and every reply must begin with "--option=".
constexpr const char* kBashWords =
    "() {\n"
    "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} option=\n"
    "  if [[ $cur == = && $prev == --* ]]; then cur=\n"
    "  elif [[ $prev == = && ${COMP_WORDS[COMP_CWORD-2]} == --* ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}\n"
    "  elif [[ $cur == --*=* ]]; then prev=${cur%%=*} cur=${cur#*=} option=$prev=; fi\n";

}  // namespace

std::string bash_completion(const ProgramText& program) {
  const std::string& name = program.name;
  std::string text = "# bash completion of " + name + "\n_" + name + kBashWords + "  _" + name +
                     "_replies\n  COMPREPLY=(\"${COMPREPLY[@]/#/$option}\")\n}\n_" + name +
                     "_replies() {\n"
                     "  local words= before=\n"
                     "  COMPREPLY=()\n"
                     "  if [[ $cur == *,* ]]; then before=${cur%,*},; fi\n"
                     "  if [[ $COMP_CWORD == 1 ]]; then\n"
                     "    COMPREPLY=($(compgen -W '" +
                     joined(command_names(program), " ") +
                     " --help --version' -- \"$cur\"))\n    return\n  fi\n"
                     "  case ${COMP_WORDS[1]}/$prev in\n"
                     "    */--set | */--over)\n"
                     "      compopt -o nospace 2>/dev/null\n"
                     "      COMPREPLY=($(compgen -W '" +
                     joined(field_words(program), " ") + "' -- \"$cur\"))\n      return ;;\n";
  for (const CommandText& command : program.commands) {
    for (const OptionText& option : command.options) {
      if (!option.takes_value || takes_field(option)) continue;
      const OptionValues values = values_of(program, option);
      text += "    " + command.name + "/" + option.name + ") COMPREPLY=(";
      if (!values.words.empty()) {
        text += std::string("$(compgen ") + (values.is_list ? "-P \"$before\" " : "") + "-W '" +
                joined(values.words, " ") + "' -- \"" + (values.is_list ? "${cur##*,}" : "$cur") + "\")";
      }
      if (values.or_files) text += " $(compgen -f -- \"$cur\")";
      text += "); return ;;\n";
    }
  }
  text += "  esac\n  case ${COMP_WORDS[1]} in\n";
  for (const CommandText& command : program.commands) {
    std::vector<std::string> words;
    for (const OptionText& option : command.options) words.push_back(option.name);
    for (const OptionText& positional : command.positionals) {
      words.insert(words.end(), positional.allowed.begin(), positional.allowed.end());
    }
    text += "    " + command.name + ") words='" + joined(words, " ") + "' ;;\n";
  }
  return text +
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
         "  if [[ $cur != -* ]]; then COMPREPLY+=($(compgen -f -- \"$cur\")); fi\n"
         "}\n"
         "complete -o filenames -F _" +
         name + " " + name + "\n";
}

std::string zsh_completion(const ProgramText& program) {
  const auto described = [](const std::string& word, const std::string& meaning) {
    return single_quoted(escaped(word, ":") + ":" + short_meaning(meaning));
  };
  const std::string& name = program.name;
  std::string text = "#compdef " + name + "\n_" + name + "() {\n  local -a commands fields\n  commands=(\n";
  for (const CommandText& command : program.commands) {
    text += "    " + described(command.name, command.meaning) + "\n";
  }
  text += "  )\n  fields=(\n";
  for (const std::string& field : field_words(program)) text += "    " + single_quoted(field) + "\n";
  text +=
      "  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n"
      "  local command=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $command in\n";
  for (const CommandText& command : program.commands) {
    text += "    " + command.name + ")\n      _arguments";
    for (const OptionText& option : command.options) {
      // "*" means that the option may be repeated.
      std::string one = "*" + option.name + "[" + escaped(short_meaning(option.meaning), "[]:\\") + "]";
      if (option.takes_value) {
        const OptionValues values = values_of(program, option);
        const std::string words = joined(values.words, " ");
        one += takes_field(option) ? ":field:{compadd -S \"\" -a fields}"
               : words.empty()     ? ":value:_files"
               : values.is_list    ? ":value:{_values -s , value " + words + "}"
               : values.or_files   ? ":value:{compadd " + words + "; _files}"
                                   : ":value:(" + words + ")";
      }
      text += " \\\n        " + single_quoted(one);
    }
    for (const OptionText& positional : command.positionals) {
      text += " \\\n        " +
              single_quoted(
                  "*:" + escaped(positional.name, ":") + ":" +
                  (positional.allowed.empty() ? "_files" : "(" + joined(positional.allowed, " ") + ")"));
    }
    text += " ;;\n";
  }
  return text + "  esac\n}\ncompdef _" + name + " " + name + "\n";
}

std::string fish_completion(const ProgramText& program) {
  const std::string start = "complete -c " + program.name + " ";
  std::string text = "# fish completion of " + program.name + "\n";
  for (const CommandText& command : program.commands) {
    text += start + "-f -n __fish_use_subcommand -a " + command.name + " -d " +
            single_quoted(escaped(short_meaning(command.meaning), "\\")) + "\n";
  }
  for (const CommandText& command : program.commands) {
    const std::string here = start + "-n '__fish_seen_subcommand_from " + command.name + "' ";
    for (const OptionText& option : command.options) {
      text += here + "-l " + option.name.substr(2) + " -d " +
              single_quoted(escaped(short_meaning(option.meaning), "\\"));
      const OptionValues values =
          takes_field(option) ? OptionValues{field_words(program), false} : values_of(program, option);
      if (option.takes_value) {
        text += values.or_files ? " -r" : " -x";
        const std::string words = joined(values.words, " ");
        if (values.is_list) {
          text += " -a '(__fish_complete_list , \"printf %s\\\\n " + words + "\")'";
        } else if (!words.empty()) {
          text += " -a " + single_quoted(words);
        }
      }
      text += "\n";
    }
    for (const OptionText& positional : command.positionals) {
      if (!positional.allowed.empty())
        text += here + "-f -a " + single_quoted(joined(positional.allowed, " ")) + "\n";
    }
  }
  return text;
}

std::string manual_page(const ProgramText& program) {
  // "\&" keeps a line from beginning with a control character; "\-" prints the hyphen of an option as a
  // minus.
  const auto plain = [](std::string_view words) {
    std::string out;
    for (const char c : words) {
      if (c == '\\') {
        out += "\\e";
      } else if (c == '-') {
        out += "\\-";
      } else {
        out += c;
      }
      if (c == '\n') out += "\\&";
    }
    return "\\&" + out;
  };
  std::string title = program.name;
  std::transform(title.begin(), title.end(), title.begin(), [](unsigned char c) { return std::toupper(c); });
  std::string text = ".TH " + title + " 1 \"\" \"" + program.name + " " + program.version +
                     "\" \"User Commands\"\n.SH NAME\n" + program.name + " \\- " + plain(program.meaning) +
                     "\n.SH SYNOPSIS\n.B " + program.name +
                     "\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR] ...\n.SH COMMANDS\n";
  for (const CommandText& command : program.commands) {
    text += ".SS " + command.name + "\n" + plain(command.meaning) + "\n";
    for (const OptionText& positional : command.positionals) {
      text += ".TP\n\\fI" + plain(positional.name) + "\\fR\n" + plain(positional.meaning) + "\n";
    }
    for (const OptionText& option : command.options) {
      text += ".TP\n\\fB" + plain(option.name) + "\\fR" + (option.takes_value ? " \\fIVALUE\\fR" : "") +
              "\n" + plain(option.meaning) + "\n";
      if (!option.allowed.empty()) text += plain("Allowed: " + joined(option.allowed, ", ")) + "\n";
    }
    if (!command.examples.empty()) text += ".PP\n.nf\n" + plain(command.examples) + "\n.fi\n";
  }
  text +=
      ".SH \"FIELDS OF A SCENARIO\"\nThe fields that a scenario file may have and \\fB\\-\\-set\\fR may "
      "change.\n";
  for (const FieldHelp& field : program.fields) {
    text += ".TP\n\\fB" + plain(field.path) + "\\fR\n" + plain(field.text) + "\n";
  }
  return text +
         ".SH \"EXIT STATUS\"\n0: done; 1: internal error; 2: bad input; 3: a requested check failed; 130: "
         "interrupted.\n";
}

}  // namespace kvcap
