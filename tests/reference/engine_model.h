// The specification of the engine, which is a program beside the project. Tests run it where it is.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "reference/literal_engine.h"

namespace kvcap::reference {

class EngineModel {
 public:
  EngineModel();
  ~EngineModel();
  EngineModel(const EngineModel&) = delete;
  EngineModel& operator=(const EngineModel&) = delete;

  // Says why nothing can be compared here; empty where it can.
  static std::string missing();

  // What the specification says, without dates of single tokens and without a count of steps. Throws
  // std::runtime_error where the program fails.
  EngineRun run(const EngineOptions& options, std::span<const Request> requests) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace kvcap::reference
