// kvcap report: writes one page, or one file of text, from existing results.
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/embedded_pages.h"
#include "base/files.h"
#include "base/input_error.h"
#include "base/outputs.h"
#include "base/text/print.h"
#include "base/text/utf8.h"
#include "commands/command_line.h"
#include "commands/commands.h"
#include "commands/require.h"
#include "report/read_inputs.h"
#include "report/report_data.h"
#include "report/text_views.h"

namespace kvcap {
namespace {

struct ReportArgs {
  std::vector<std::string> paths, before, requirements;
  std::string out, format, title;
};

constexpr std::string_view kFormats[] = {"html", "markdown", "csv", "json"};

// Returns --format or, without it, the format that the ending of the file's name stands for.
std::string format_of(const ReportArgs& args) {
  if (args.format.empty()) {
    const std::string_view out = args.out;
    if (out.ends_with(".md")) return "markdown";
    if (out.ends_with(".csv")) return "csv";
    if (out.ends_with(".json")) return "json";
    return "html";
  }
  for (std::string_view format : kFormats)
    if (args.format == format) return args.format;
  throw InputError("--format: found \"" + args.format + "\", allowed: html, markdown, csv, json" +
                   suggestion(args.format, kFormats));
}

std::string title_of(const std::vector<ReportDocument>& inputs) {
  constexpr std::size_t kMost = 3;
  std::string title = "kvcap: ";
  for (std::size_t i = 0; i < inputs.size() && i < kMost; ++i) title += (i > 0 ? ", " : "") + inputs[i].name;
  if (inputs.size() > kMost) title += " and " + std::to_string(inputs.size() - kMost) + " more";
  return title;
}

std::string report_text(const std::string& format, const Report& report) {
  if (format == "json") return report_json(report);
  if (format == "markdown") return report_markdown(report);
  if (format == "csv") return report_csv(report);
  return report_html(embedded_report_page().html, report);
}

void report(const ReportArgs& args) {
  const std::string format = format_of(args);
  const std::vector<Requirement> requirements = parse_difference_requirements(args.requirements);
  if (!requirements.empty() && args.before.empty())
    throw InputError("report: --before: missing, required for --require");
  if (format == "html" && args.out.empty())
    throw InputError("report: -o: missing, required for html: -o FILE.html");
  if (format == "html" && embedded_report_page().html.empty())
    throw InputError("report: " + std::string(embedded_report_page().missing) +
                     "; --format markdown and csv work without it");
  std::vector<std::string> skipped;
  Report report{.title = args.title, .inputs = read_inputs(args.paths, args.before, skipped)};
  for (const std::string& one : skipped) tell("report: left out " + one);
  if (!args.out.empty() && args.out != "-") {
    std::vector<std::string> inputs = args.paths;
    inputs.insert(inputs.end(), args.before.begin(), args.before.end());
    // The inputs include files that were found in folders.
    for (const ReportDocument& input : report.inputs) inputs.push_back(input.path);
    const std::string heading = args.title.empty() ? "" : "# " + valid_utf8(args.title) + "\n";
    refuse_to_replace("-o", args.out, inputs, format == "markdown" ? heading : "");
  }
  report.title = args.title.empty() ? title_of(report.inputs) : valid_utf8(args.title);
  const std::string text = report_text(format, report);
  if (args.out.empty() || args.out == "-") {
    // A page is written unchanged; print() would clean it up for terminals.
    if (format == "html") {
      std::fwrite(text.data(), 1, text.size(), stdout);
    } else {
      print(text);
    }
  } else {
    write_file(args.out, text);
  }
  const CheckedRequirements checked = check_requirements(requirements, report.inputs);
  // If the report itself goes to stdout, nothing else does.
  if (!args.out.empty() && args.out != "-") print(holds_text(checked));
  require_all(checked);
}

}  // namespace

void add_report(CLI::App& app) {
  auto args = std::make_shared<ReportArgs>();
  Command command(app, "report", "write one page from results, sweeps, plans and validations");
  command
      .values(
          "paths", args->paths,
          "JSON of run, compare, restore, plan, capacity, validate and trace stats, the results.sqlite of a "
          "sweep, or folders with them")
      .required();
  command.value("-o,--out", args->out, "the file to write; markdown, csv and json: default stdout");
  command.value("--format", args->format,
                "html, markdown, csv or json; default: by the ending of FILE, else html");
  command.values("--before", args->before,
                 "earlier results to compare with: files and folders, as for paths");
  command.repeated("--require", args->requirements,
                   "fail with exit code 3 unless this holds against --before: 'p99_ttft_ms<=+2%'");
  command.value("--title", args->title, "title of the report; default: the names of the inputs");
  command.footer("Example: kvcap report build/demo -o report.html");
  command.runs([args] { report(*args); });
}

}  // namespace kvcap
