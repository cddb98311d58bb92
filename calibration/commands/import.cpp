// `kvcap-calibrate import`: imports kernel times of other programs into a hardware profile.
#include "calibration/import.h"

#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/input_error.h"
#include "base/text/print.h"
#include "calibration/commands/commands.h"

namespace kvcap::calibration {
namespace {

struct ImportArgs {
  ImportOptions options;
  std::vector<std::string> where;
  std::string out;
};

void import_tables(ImportArgs args) {
  for (const std::string& condition : args.where) {
    const std::size_t equals = condition.find('=');
    if (equals == std::string::npos) {
      throw InputError("--where: found \"" + condition + "\", allowed: COLUMN=VALUE");
    }
    args.options.where.emplace_back(condition.substr(0, equals), condition.substr(equals + 1));
  }
  std::vector<std::string> inputs = args.options.tables;
  inputs.push_back(args.options.base);
  require_place_for(args.out, inputs);
  write_file(args.out, import_profile(args.options));
  print(args.out + "\n");
}

}  // namespace

void add_import(CLI::App& app) {
  auto args = std::make_shared<ImportArgs>();
  CLI::App* command = app.add_subcommand("import", "turns tables of kernel times into a hardware profile");
  command
      ->add_option(
          "TABLE", args->options.tables,
          "CSV files, known by their columns: GEMMs (m, n, k, dtype), collectives (op, num_gpus, bytes), "
          "attention (q_heads, kv_heads, new_tokens, cached_tokens, batch), with time_s, t_ms or t_us; "
          "AIConfigurator's tables; the output of nccl-tests; the CSV files of vLLM's bench_fp8_gemm.py")
      ->required();
  command->add_option("--base", args->options.base, "the profile that has all else, by path or name")
      ->required();
  command->add_option("--out", args->out, "the profile")->required();
  command->add_option("--name", args->options.name, "what results call it; without it as the base");
  command->add_option("--where", args->where, "only rows with this value, COLUMN=VALUE; may be repeated");
  command->add_flag("--smooth", args->options.smooth, "GEMMs as a fitted smooth_max instead of a table");
  command->footer(
      "Example: kvcap-calibrate import <(printf 'm,n,k,t_us\\n16,4096,4096,20\\n') --base l40s --out "
      "mine.json");
  command->callback([args] { import_tables(*args); });
}

}  // namespace kvcap::calibration
