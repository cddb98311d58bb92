// kvcap whatif: writes an interactive page that shows what fits a machine and how fast contexts are restored,
// or answers the questions of that page without a browser.
#include "whatif/whatif.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "base/embedded_pages.h"
#include "base/files.h"
#include "base/input_error.h"
#include "base/outputs.h"
#include "base/text/print.h"
#include "commands/command_line.h"
#include "commands/commands.h"

namespace kvcap {
namespace {

struct WhatifArgs {
  std::string out, questions;
};

void write_page(const std::string& out) {
  const EmbeddedPage page = embedded_whatif_page();
  if (page.html.empty()) throw InputError("whatif: " + std::string(page.missing));
  refuse_to_replace("-o", out, {});
  write_file(out, page.html);
}

// Prints an answer for every line that is not empty.
void answer_file(const std::string& path) {
  const std::string text = read_text(path);
  std::string_view rest = text;
  std::string answers;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) answers += whatif_answer(line) + "\n";
  }
  print(answers);
}

void whatif(const WhatifArgs& args) {
  if (args.out.empty() == args.questions.empty()) {
    throw InputError("whatif: found " +
                     std::string(args.out.empty() ? "no -o and no --ask" : "-o and --ask") +
                     ", allowed: -o FILE.html, or --ask FILE");
  }
  if (args.questions.empty()) {
    write_page(args.out);
  } else {
    answer_file(args.questions);
  }
}

}  // namespace

void add_whatif(CLI::App& app) {
  auto args = std::make_shared<WhatifArgs>();
  Command command(app, "whatif", "write an interactive page: what fits, and how fast contexts are restored");
  command.value("-o,--out", args->out, "the page to write: FILE.html");
  command.value("--ask", args->questions,
                "file of questions of the page to answer instead, one JSON object per line: {\"ask\": "
                "\"catalogue\"}");
  command.footer(
      "The page has every model and every GPU of the catalogue and needs no network. It computes closed\n"
      "forms, as show memory and restore do, and simulates nothing. To write it, kvcap must have been built "
      "with\n"
      "Emscripten (apt-get install emscripten).\n\n"
      "Example: kvcap whatif -o whatif.html");
  command.runs([args] { whatif(*args); });
}

}  // namespace kvcap
