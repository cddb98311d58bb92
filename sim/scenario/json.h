// The JSON type of the loader and the steps of loading. Private to scenario/ and to modules that read files
// with scenarios or models; others do not include this header.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/places.h"
#include "base/read_fields.h"
#include "scenario/load.h"
#include "scenario/scenario.h"

namespace kvcap {

using Json = nlohmann::ordered_json;

// The contents of a file after references are resolved and overrides applied, with the origin of each part.
struct Document {
  Json json;
  Places places;
  double profile_gpus = 0;                               // gpu.count of the profile's file; 0: no file
  double profile_dram_bytes = 0, profile_ssd_bytes = 0;  // of the profile's file
  double profile_memory_bytes = 0;                       // gpu.memory_bytes of the profile's file
  std::string prices_file = {};                          // empty: no prices file
  std::vector<std::string> notes = {};                   // notes of the steps that resolve the document
};

// Parses JSON. Throws InputError with file, line and column for a syntax error or a repeated key.
Json parse_json(std::string_view text, const std::string& file);
// Read and check each field on its own; check.h checks fields against each other. Throw InputError.
Scenario read_scenario(const Document& document);
ModelSpec read_model(const Document& document);
HardwareProfile read_hardware(const Document& document);

// Returns the scenario as JSON with all defaults filled in.
Json write_scenario(const Scenario& scenario);

// Returns the profile as JSON with all defaults filled in.
Json write_hardware(const HardwareProfile& hardware);

// Returns "found \"h200\"; did you mean \"h200-sxm\"? allowed: a100-40g-4x-pm9a3, ...": suggests the profiles
// whose names begin with `name` (only the shortest such name if all others begin with that name), else the
// nearest name.
std::string unknown_profile(const std::string& name);

// True iff the object is a Hugging Face config.json; model_of_hugging_face converts it to a kvcap model file.
bool is_hugging_face(const Json& object);
Json model_of_hugging_face(const Json& config, const std::string& name, const std::string& place);

// Replaces names and paths of models, hardware and policies by their contents, then applies overrides. Throws
// InputError.
Document resolve_scenario(std::string_view text, const std::string& file,
                          const std::vector<Override>& overrides);
// Replaces prices of the hardware profile by those of the file that billing.prices names, except prices given
// with --set, and clears billing.prices. Throws InputError.
void take_prices(Document& document);
// Returns all prices above 0 of a document's hardware and their origin.
std::vector<PriceSource> price_sources(const Document& document);
// If gpu.per_server is set, scales DRAM capacity and SSDs to the profile's share of the server. Unless the
// scenario sets hardware.gpu.count, this is the smallest share that fits an engine. Also sets how much
// storage the rent of the share includes.
void take_share(Document& document);
// Clears the dates of prices that the scenario, --set or a file of prices has replaced.
void drop_old_dates(Document& document);
// Copies the host times of hardware.engine to `serving`, except those that `serving` sets.
void take_engine(Document& document);
Document resolve_model(const std::string& name_or_path);
Document resolve_hardware(const std::string& name_or_path);

}  // namespace kvcap
