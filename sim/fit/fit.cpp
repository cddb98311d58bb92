#include "fit/fit.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <unsupported/Eigen/NonLinearOptimization>

#include "base/float_values.h"
#include "base/input_error.h"
#include "fit/distances.h"
#include "metrics/statistics/quantiles.h"
#include "plan/values_in_workers.h"
#include "run/simulate.h"

namespace kvcap {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kModelSigma = 0.02;  // model error of a window's latency, in addition to its sampling error
constexpr double kStatisticsOfOne = 7;  // statistics of one window and latency that count as one observation
// Steps in x for finite differences. They go towards a faster machine, because a slower one may be saturated,
// and then times are far from linear in x. Hits are whole blocks, so a hit share needs a step of many blocks.
constexpr double kFactorStep = -0.05, kHostStep = -0.2;
constexpr double kHuber = 3;
constexpr double kLatencies = 4;  // latencies of a log without single requests: TTFT, TPOT, ITL, E2EL
constexpr int kBootstraps = 200;
constexpr int kMostIterations = 8;
constexpr double kTolerance = 1e-3;
constexpr double kConfounded = 0.9;

// Concatenates the statistics of requests, the inter-token latencies and the metrics of the log.
VectorXd stacked(const VectorXd& a, const VectorXd& b, const VectorXd& c) {
  VectorXd all(a.size() + b.size() + c.size());
  all << a, b, c;
  return all;
}

// Returns standard deviations that give all statistics together the weight of `observations` observations.
VectorXd shared_sigma(const VectorXd& statistics, double observations) {
  const double of_one = static_cast<double>(statistics.size()) / observations;
  return VectorXd::Constant(statistics.size(), kModelSigma * std::sqrt(std::max(1.0, of_one)));
}

// A fitted run with its measured values.
struct Target {
  const FitRun* run;
  std::vector<RequestTimes> times;
  VectorXd logs, sigma;  // statistics, inter-token latencies, metrics

  explicit Target(const FitRun& of) : run(&of), times(measured_times(of)) {
    const VectorXd statistics = log_statistics(times), gaps = log_gaps(of), metrics = log_metrics(of);
    logs = stacked(statistics, gaps, metrics);
    sigma = stacked(deviations(statistics), shared_sigma(gaps, 1), shared_sigma(metrics, kLatencies));
  }

 private:
  // Returns the sampling error (by bootstrap) of each statistic, combined with the model error.
  VectorXd deviations(const VectorXd& statistics) const {
    constexpr int kDraws = 40;
    VectorXd squares = VectorXd::Zero(statistics.size());
    for (int draw = 0; draw < kDraws; ++draw) {
      squares += (resampled_log_statistics(times, static_cast<uint64_t>(draw)) - statistics)
                     .array()
                     .square()
                     .matrix();
    }
    return (kStatisticsOfOne * (squares.array() / kDraws + kModelSigma * kModelSigma)).sqrt().matrix();
  }
};

// Throws InputError if the simulated machine rejects or truncates requests that the server answered.
void refuse_rejected(const FitRun& run, const RunResult& result) {
  const auto left_out = std::count_if(result.turns.begin(), result.turns.end(),
                                      [](const TurnRecord& one) { return !one.answered() || one.truncated; });
  if (left_out == 0) return;
  throw InputError(run.name + ": " + std::to_string(left_out) + " of " + std::to_string(result.turns.size()) +
                   " requests that the server answered do not fit on the simulated server; set "
                   "serving.max_model_len, serving.kv_capacity_tokens or serving.tensor_parallel_size to the "
                   "server's values");
}

// Returns the residual under Huber's loss, so that outliers count less.
double robust(double residual) {
  const double size = std::abs(residual);
  return size <= kHuber ? residual : std::copysign(std::sqrt(2 * kHuber * size - kHuber * kHuber), residual);
}

// Residuals: a functor for Eigen's optimizer that computes the residuals to minimize, first those of all
// statistics, then those of the priors.
class Residuals {
 public:
  using Scalar = double;
  using InputType = VectorXd;
  using ValueType = VectorXd;
  using JacobianType = MatrixXd;
  enum { InputsAtCompileTime = Eigen::Dynamic, ValuesAtCompileTime = Eigen::Dynamic };

  Residuals(const std::vector<FitRun>& runs, FitParameters parameters) : parameters_(std::move(parameters)) {
    for (const FitRun& run : runs) {
      if (!run.only_judged) targets_.emplace_back(run);
    }
    whiten_ = parameters_.covariance.llt().matrixL().solve(
        MatrixXd::Identity(parameters_.mean.size(), parameters_.mean.size()));
    for (const Target& target : targets_) data_ += target.logs.size();
  }

  int inputs() const { return static_cast<int>(parameters_.mean.size()); }
  int values() const { return static_cast<int>(data_) + inputs(); }
  int64_t simulations() const { return simulations_; }

  int operator()(const VectorXd& x, VectorXd& residuals) {
    residuals = at({x}).front();
    last_x_ = x;
    last_ = residuals;
    return 0;
  }
  int df(const VectorXd& x, MatrixXd& jacobian) {
    if (last_x_.size() != x.size() || last_x_ != x) {
      VectorXd ignored;
      (*this)(x, ignored);
    }
    std::vector<VectorXd> points;
    for (int i = 0; i < inputs(); ++i) {
      points.push_back(x);
      points.back()[i] += step(i);
    }
    const std::vector<VectorXd> moved = at(points);
    jacobian.resize(values(), inputs());
    for (int i = 0; i < inputs(); ++i)
      jacobian.col(i) = (moved[static_cast<std::size_t>(i)] - last_) / step(i);
    return 0;
  }

  // Returns the change in the residuals if the requests are resampled, with the same draws for measured and
  // simulated times. `simulated`: the times of each fitted run at the minimum.
  VectorXd resampled_change(uint64_t replicate,
                            const std::vector<std::vector<RequestTimes>>& simulated) const {
    VectorXd change = VectorXd::Zero(values());
    Index at = 0;
    for (std::size_t r = 0; r < targets_.size(); ++r) {
      const Target& target = targets_[r];
      const VectorXd measured = resampled_log_statistics(target.times, replicate);
      const VectorXd ours = resampled_log_statistics(simulated[r], replicate);
      const VectorXd distance = log_statistics(simulated[r]) - log_statistics(target.times);
      for (Index i = 0; i < measured.size(); ++i) {
        const double moved = (ours[i] - measured[i] - distance[i]) / target.sigma[i];
        change[at + i] = std::isnan(moved) ? 0 : moved;
      }
      at += target.logs.size();
    }
    return change;
  }

  std::vector<std::vector<RequestTimes>> times_at(const VectorXd& x) {
    simulations_ += std::ssize(targets_);
    return values_in_workers<RequestTimes>(targets_.size(), [&](std::size_t job, std::atomic<int64_t>&) {
      const FitRun& run = *targets_[job].run;
      return simulated_times(run,
                             simulate(scenario_at(run, parameters_, x), workload_at(run, parameters_, x)));
    });
  }

 private:
  double step(int parameter) const {
    const FitParameter& one = parameters_.all[static_cast<std::size_t>(parameter)];
    return one.reference_s > 0 || !one.of_run.empty() ? kHostStep : kFactorStep;
  }

  std::vector<VectorXd> at(const std::vector<VectorXd>& points) {
    const std::size_t runs = targets_.size();
    simulations_ += static_cast<int64_t>(points.size() * runs);
    const std::vector<std::vector<double>> simulated = values_in_workers<double>(
        points.size() * runs,
        [&](std::size_t job, std::atomic<int64_t>&) {
          const FitRun& run = *targets_[job % runs].run;
          const VectorXd& x = points[job / runs];
          const RunResult result =
              simulate(scenario_at(run, parameters_, x), workload_at(run, parameters_, x));
          refuse_rejected(run, result);
          const VectorXd logs = stacked(log_statistics(simulated_times(run, result)), log_gaps(run, result),
                                        log_metrics(run, result));
          return std::vector<double>(logs.begin(), logs.end());
        },
        {.label = "fitting"});
    std::vector<VectorXd> all;
    for (std::size_t p = 0; p < points.size(); ++p) {
      VectorXd residuals = VectorXd::Constant(values(), kNaN);
      Index to = 0;
      for (std::size_t r = 0; r < runs; ++r) {
        const Target& target = targets_[r];
        const std::vector<double>& logs = simulated[p * runs + r];
        for (Index i = 0; i < std::ssize(logs); ++i) {
          const double distance = (logs[static_cast<std::size_t>(i)] - target.logs[i]) / target.sigma[i];
          residuals[to++] = std::isnan(distance) ? 0 : robust(distance);
        }
      }
      residuals.tail(inputs()) = whiten_ * (points[p] - parameters_.mean);
      all.push_back(std::move(residuals));
    }
    return all;
  }

  FitParameters parameters_;
  std::vector<Target> targets_;
  MatrixXd whiten_;
  Index data_ = 0;
  int64_t simulations_ = 0;
  VectorXd last_x_, last_;
};

// Returns the change in x for each resampled set of requests, linearised around the minimum.
std::vector<VectorXd> bootstrap(const Residuals& residuals,
                                const std::vector<std::vector<RequestTimes>>& simulated,
                                const MatrixXd& jacobian, const MatrixXd& covariance) {
  std::vector<VectorXd> moves;
  for (int i = 0; i < kBootstraps; ++i) {
    // The offset keeps these seeds apart from those of deviations().
    const VectorXd change = residuals.resampled_change(1000 + static_cast<uint64_t>(i), simulated);
    moves.push_back(-covariance * (jacobian.transpose() * change));
  }
  return moves;
}

bool minimize(Residuals& residuals, VectorXd& x) {
  Eigen::LevenbergMarquardt<Residuals> optimizer(residuals);
  optimizer.parameters.xtol = kTolerance;
  optimizer.parameters.ftol = kTolerance;
  auto status = optimizer.minimizeInit(x);
  for (int i = 0; i < kMostIterations && status == Eigen::LevenbergMarquardtSpace::NotStarted; ++i) {
    status = optimizer.minimizeOneStep(x);
    if (status == Eigen::LevenbergMarquardtSpace::Running)
      status = Eigen::LevenbergMarquardtSpace::NotStarted;
  }
  return status != Eigen::LevenbergMarquardtSpace::NotStarted;
}

// Sets the 95 % interval of the bootstrap, widened to at least x +- 1.96 sigma.
void set_interval(std::vector<double> moved, FitEstimate& estimate) {
  std::sort(moved.begin(), moved.end());
  estimate.low = std::min(quantile_of_sorted(moved, 0.025), estimate.x - 1.96 * estimate.sigma);
  estimate.high = std::max(quantile_of_sorted(moved, 0.975), estimate.x + 1.96 * estimate.sigma);
}

std::vector<FitEstimate> estimates_of(const FitParameters& parameters, const VectorXd& x,
                                      const MatrixXd& covariance, const std::vector<VectorXd>& moves) {
  std::vector<FitEstimate> estimates;
  for (Index i = 0; i < x.size(); ++i) {
    estimates.push_back({.parameter = parameters.all[static_cast<std::size_t>(i)],
                         .x = x[i],
                         .sigma = std::sqrt(covariance(i, i)),
                         .prior_sigma = std::sqrt(parameters.covariance(i, i))});
    std::vector<double> moved;
    for (const VectorXd& one : moves) moved.push_back(x[i] + one[i]);
    set_interval(std::move(moved), estimates.back());
  }
  return estimates;
}

std::vector<Confounded> confounded_of(const MatrixXd& covariance, const FitParameters& parameters) {
  std::vector<Confounded> pairs;
  const auto correlation = [](const MatrixXd& matrix, Index i, Index j) {
    return matrix(i, j) / std::sqrt(matrix(i, i) * matrix(j, j));
  };
  for (Index i = 0; i < covariance.rows(); ++i) {
    for (Index j = i + 1; j < covariance.rows(); ++j) {
      const double left = correlation(covariance, i, j);
      if (std::abs(left) < kConfounded || correlation(parameters.covariance, i, j) > kConfounded) continue;
      pairs.push_back({static_cast<std::size_t>(i), static_cast<std::size_t>(j), left});
    }
  }
  return pairs;
}

}  // namespace

bool FitEstimate::is_told() const { return learned() >= 0.2; }

std::pair<double, double> FitEstimate::interval() const {
  return std::minmax({parameter.value_of(low), parameter.value_of(high)});
}

FitAnswer fit(const std::vector<FitRun>& runs) {
  FitAnswer answer;
  const FitParameters all = parameters_of(runs);
  Residuals residuals(runs, all);
  VectorXd x = all.mean;
  answer.has_converged = minimize(residuals, x);
  MatrixXd jacobian;
  residuals.df(x, jacobian);
  const MatrixXd covariance = (jacobian.transpose() * jacobian).inverse();
  answer.estimates =
      estimates_of(all, x, covariance, bootstrap(residuals, residuals.times_at(x), jacobian, covariance));
  answer.confounded = confounded_of(covariance, all);
  answer.simulations = residuals.simulations();

  std::vector<Index> told;
  for (Index i = 0; i < x.size(); ++i) {
    if (answer.estimates[static_cast<std::size_t>(i)].is_told()) told.push_back(i);
  }
  answer.parameters = only(all, told);
  answer.x = x(told);
  answer.sigma = covariance.diagonal().cwiseSqrt()(told);
  judge_fit(runs, answer);
  return answer;
}

}  // namespace kvcap
