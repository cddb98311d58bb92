#include "serving/restorer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"

namespace kvcap {
namespace {

class RequestRestorer : public Restorer {
 public:
  RequestRestorer(World& world, const LoadRates& routes, LinkObserver observer)
      : world_(world), routes_(routes), observer_(std::move(observer)) {}

  void start(Restoration restoration, std::function<void(RestoreTimes)> ready) override {
    auto run = std::make_shared<Run>();
    run->start_s = world_.now_s();
    run->restoration = std::move(restoration);
    run->rates = routes_;
    run->ready = std::move(ready);
    for (Tier tier : kTiers) {
      const LoadRate& rate = routes_[index(tier)];
      const double alone_s = rate.route ? total_load_s(run->restoration, tier, *rate.route) : 0;
      if (alone_s <= 0) continue;
      ++run->under_way;
      world_.lane(tier, Tier::hbm).move(alone_s, rate.route->latency_s, [this, run, tier, alone_s](double began_s) {
        loaded(*run, tier, alone_s, began_s);
      });
    }
    // Nothing to load: the end follows now, and is reported through the compute queue like any other.
    if (run->under_way == 0) world_.restore_compute().run(0, [this, run] { finish(*run); });
  }

  double stolen_s() const override { return stolen_s_; }
  double pending_s() const override { return 0; }
  void step_running(bool running) override {
    step_running_ = running;
    if (!running) return;
    // Work that no step has paid for yet and that is not over.
    stolen_s_ += std::max(0.0, tail_until_s_ - world_.now_s());
    tail_until_s_ = 0;
  }

 private:
  struct Run {
    double start_s = 0;
    Restoration restoration;
    LoadRates rates;
    int under_way = 0;
    std::function<void(RestoreTimes)> ready;
  };

  void loaded(Run& run, Tier tier, double alone_s, double began_s) {
    LoadRate& rate = run.rates[index(tier)];
    rate.delay_s = began_s + rate.route->latency_s - run.start_s;
    rate.stretch = (world_.now_s() - began_s - rate.route->latency_s) / alone_s;
    if (--run.under_way == 0) finish(run);
  }

  void finish(Run& run) {
    const double now_s = world_.now_s();
    const double compute_s = run.restoration.total_compute_s();
    // No earlier than the pipeline allows, nor than one GPU can have done all restorations' work.
    const double restored_s = std::max({now_s, run.start_s + makespan_s(run.restoration, run.rates),
                                        compute_s > 0 ? gpu_free_s_ + compute_s : 0.0});
    if (compute_s > 0) {
      gpu_free_s_ = std::max(run.start_s, gpu_free_s_) + compute_s;
      observer_(Resource::gpu, compute_s, std::max(run.start_s, restored_s - compute_s), restored_s);
      if (step_running_) {
        stolen_s_ += compute_s;
      } else {
        tail_until_s_ = std::max(tail_until_s_, restored_s);
      }
    }
    run.ready({now_s, restored_s});
  }

  World& world_;
  LoadRates routes_;
  LinkObserver observer_;
  bool step_running_ = false;
  double stolen_s_ = 0;
  double gpu_free_s_ = 0;    // the GPU has done all restorations' work so far
  double tail_until_s_ = 0;
};

class LayerRestorer : public Restorer {
 public:
  LayerRestorer(World& world, const LoadRates& routes, LinkObserver observer,
                std::function<void(const RestoreActivity&)> observe)
      : world_(world), routes_(routes), observer_(std::move(observer)), observe_(std::move(observe)) {}

  void start(Restoration restoration, std::function<void(RestoreTimes)> ready) override {
    auto run = std::make_shared<Run>();
    run->ahead = restoration.ahead;
    run->loaded_s = world_.now_s();
    run->ready = std::move(ready);
    for (const LayerWork& work : restoration.work) {
      for (int64_t i = 0; i < work.layers; ++i) run->layers.push_back({work});
    }
    load_ahead(run);
    // Always through the World, so that `ready` never runs inside start().
    world_.restore_compute().run(0, [this, run] { compute_next(run); });
  }

  double stolen_s() const override { return world_.restore_compute().served_s(); }
  double pending_s() const override { return world_.restore_compute().pending_s(); }
  void step_running(bool) override {}

 private:
  struct Layer {
    LayerWork work;
    int under_way = 0;  // transfers
    bool issued = false;
  };
  struct Run {
    std::vector<Layer> layers;
    int64_t ahead = kUnlimited;
    std::size_t issued = 0;     // layers whose loads have been asked for
    std::size_t computed = 0;
    bool computing = false;
    PerTier latency_paid{};
    double loaded_s = 0;
    std::function<void(RestoreTimes)> ready;
  };
  using RunPtr = std::shared_ptr<Run>;

  void load_ahead(const RunPtr& run) {
    while (run->issued < run->layers.size() &&
           (run->ahead == kUnlimited || static_cast<int64_t>(run->issued - run->computed) < run->ahead)) {
      load(run, run->issued++);
    }
  }

  void load(const RunPtr& run, std::size_t layer) {
    Layer& one = run->layers[layer];
    one.issued = true;
    for (Tier tier : kTiers) {
      const LoadRate& rate = routes_[index(tier)];
      const double alone_s = load_s(one.work, tier, rate);
      if (alone_s <= 0) continue;
      ++one.under_way;
      // The first byte of a transfer is late once, not once a layer.
      const double latency_s = std::exchange(run->latency_paid[index(tier)], 1) > 0 ? 0 : rate.route->latency_s;
      world_.lane(tier, Tier::hbm).move(alone_s, latency_s, [this, run, layer, tier](double began_s) {
        Layer& loaded = run->layers[layer];
        --loaded.under_way;
        run->loaded_s = world_.now_s();
        note({name(tier), static_cast<int64_t>(layer), loaded.work.form, began_s, world_.now_s()});
        compute_next(run);
      });
    }
  }

  void compute_next(const RunPtr& run) {
    if (run->computing || run->computed == run->layers.size()) return;
    const Layer& next = run->layers[run->computed];
    if (!next.issued || next.under_way > 0) return;
    run->computing = true;
    const double compute_s = next.work.compute_s;
    if (compute_s <= 0) {
      computed(run);
      return;
    }
    world_.restore_compute().run(compute_s, [this, run, compute_s] {
      const double end_s = world_.now_s();
      observer_(Resource::gpu, compute_s, end_s - compute_s, end_s);
      note({"compute", static_cast<int64_t>(run->computed), run->layers[run->computed].work.form, end_s - compute_s,
            end_s});
      computed(run);
    });
  }

  void computed(const RunPtr& run) {
    run->computing = false;
    ++run->computed;
    if (run->computed == run->layers.size()) {
      run->ready({run->loaded_s, world_.now_s()});
      return;
    }
    load_ahead(run);
    compute_next(run);
  }

  void note(const RestoreActivity& activity) const {
    if (observe_) observe_(activity);
  }

  World& world_;
  LoadRates routes_;
  LinkObserver observer_;
  std::function<void(const RestoreActivity&)> observe_;
};

}  // namespace

std::unique_ptr<Restorer> make_restorer(Fidelity fidelity, World& world, const LoadRates& routes,
                                        LinkObserver observer, std::function<void(const RestoreActivity&)> observe) {
  if (fidelity == Fidelity::layer) {
    return std::make_unique<LayerRestorer>(world, routes, std::move(observer), std::move(observe));
  }
  return std::make_unique<RequestRestorer>(world, routes, std::move(observer));
}

}  // namespace kvcap
