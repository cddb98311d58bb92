#include "gpu/block.h"

#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#if !defined(__x86_64__) || defined(KVCAP_UCONTEXT)
#include <ucontext.h>
#endif

namespace kvcap::gpu {
namespace {

// ---- fibers ----

constexpr std::size_t kStackBytes = 64 << 10;

#if defined(__x86_64__) && !defined(KVCAP_UCONTEXT)
using Context = void*;  // the stack, on which the other registers lie
extern "C" void kvcap_gpu_switch(Context* from, Context to);
asm(R"(
.text
.type kvcap_gpu_switch, @function
kvcap_gpu_switch:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, (%rdi)
  mov %rsi, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
.size kvcap_gpu_switch, . - kvcap_gpu_switch
)");
void switch_to(Context* from, Context* to) { kvcap_gpu_switch(from, *to); }
void begin_at(Context* context, char* stack, void (*entry)()) {
  void** top = reinterpret_cast<void**>(stack + kStackBytes) - 1;  // as a call leaves it: 8 bytes off 16
  *--top = reinterpret_cast<void*>(entry);
  top -= 6;
  *context = top;
}
#else
using Context = ucontext_t;
void switch_to(Context* from, Context* to) { swapcontext(from, to); }
void begin_at(Context* context, char* stack, void (*entry)()) {
  getcontext(context);
  context->uc_stack.ss_sp = stack;
  context->uc_stack.ss_size = kStackBytes;
  makecontext(context, entry, 0);
}
#endif

char* new_stack() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* data = mmap(nullptr, page + kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) throw std::runtime_error("no memory for the stack of a GPU thread");
  mprotect(data, page, PROT_NONE);
  return static_cast<char*>(data) + page;
}

// ---- a block ----

enum class State : uint8_t { ready, at_warp, at_barrier, ended };

struct Copy {
  void* to;
  const void* from;
  int bytes;
};

struct Thread {
  Index index{};
  int warp = 0, lane = 0;
  State state = State::ready;
  Context* fiber = nullptr;  // null before its begin
  std::vector<Copy> copies;
};

struct Warp {
  unsigned lanes = 0;    // of the block
  unsigned arrived = 0;  // lanes that wait for the others
  unsigned mask = 0;
  void (*together)(void* const*) = nullptr;
  void* operands[32] = {};
};

// The state of the one block that runs.
const std::function<void()>* body = nullptr;
Order order_of_block;
std::vector<Thread> threads;
std::vector<Warp> warps;
Thread* current = nullptr;
std::string fault;
Context scheduler;
std::vector<Context*> idle;  // fibers whose thread has ended: each can run another

void copy_now(const Copy& copy) {
  if (copy.from) {
    std::memcpy(copy.to, copy.from, static_cast<std::size_t>(copy.bytes));
  } else {
    std::memset(copy.to, 0, static_cast<std::size_t>(copy.bytes));
  }
}

// The lane after the current one in the block's order, if it may run; null otherwise.
Thread* next_lane() {
  const int lane = current->lane + (order_of_block.first_to_last ? 1 : -1);
  if (lane < 0 || lane > 31 || (warps[static_cast<std::size_t>(current->warp)].lanes >> lane & 1U) == 0) {
    return nullptr;
  }
  Thread* const next = current + (lane - current->lane);
  return next->state == State::ready ? next : nullptr;
}

void fiber();
Context* take_fiber();

void become(Thread& thread) {
  if (!thread.fiber) thread.fiber = take_fiber();
  current = &thread;
  threadIdx = thread.index;
}

void yield_to_scheduler() { switch_to(current->fiber, &scheduler); }

// The current thread waits: the next lane goes on, or the scheduler.
void yield() {
  Context* const mine = current->fiber;
  if (Thread* const next = next_lane()) {
    become(*next);
    switch_to(mine, next->fiber);
  } else {
    switch_to(mine, &scheduler);
  }
}

// Runs one GPU thread after another.
void fiber() {
  while (true) {
    (*body)();
    current->state = State::ended;
    Thread* const next = next_lane();
    if (next && !next->fiber) {  // on this stack
      next->fiber = current->fiber;
      become(*next);
    } else {
      yield_to_scheduler();
    }
  }
}

Context* take_fiber() {
  if (!idle.empty()) {
    Context* const taken = idle.back();
    idle.pop_back();
    return taken;
  }
  auto* const made = new Context();  // kept for later blocks
  begin_at(made, new_stack(), fiber);
  return made;
}

[[noreturn]] void end_with_fault(std::string what) {
  fault = std::move(what);
  yield_to_scheduler();
  std::abort();  // a thread with a fault is not resumed
}

void resume(Thread& thread) {
  become(thread);
  switch_to(&scheduler, thread.fiber);
  if (!fault.empty()) throw KernelFault(fault);
  if (current->state == State::ended) idle.push_back(current->fiber);
}

// Runs the warp until each of its lanes waits or has ended; false: it was so already.
bool run_warp(int warp) {
  const int first = warp * 32;
  const int count = std::popcount(warps[static_cast<std::size_t>(warp)].lanes);
  bool any = false;
  for (bool more = true; more;) {
    more = false;
    for (int i = 0; i < count; ++i) {
      Thread& thread =
          threads[static_cast<std::size_t>(first + (order_of_block.first_to_last ? i : count - 1 - i))];
      if (thread.state != State::ready) continue;
      resume(thread);
      any = more = true;
    }
  }
  return any;
}

void prepare(Index block) {
  const unsigned count = block.x * block.y * block.z;
  if (threads.size() == count) {  // as the block before
    for (Thread& thread : threads) {
      thread.state = State::ready;
      thread.fiber = nullptr;
      thread.copies.clear();
    }
    for (Warp& warp : warps) warp.arrived = 0;
    return;
  }
  threads.assign(count, {});
  warps.assign((count + 31) / 32, {});
  for (unsigned i = 0; i < count; ++i) {
    threads[i].index = {i % block.x, i / block.x % block.y, i / block.x / block.y};
    threads[i].warp = static_cast<int>(i / 32);
    threads[i].lane = static_cast<int>(i % 32);
    warps[i / 32].lanes |= 1U << i % 32;
  }
}

void run_block(Index block) {
  prepare(block);
  const int count = static_cast<int>(warps.size());
  while (true) {
    bool any = false;
    for (int i = 0; i < count; ++i) any |= run_warp(order_of_block.first_to_last ? i : count - 1 - i);
    if (any) continue;  // a warp may have gone on after a later one
    bool waiting = false;
    for (Thread& thread : threads) {
      if (thread.state == State::at_warp) throw KernelFault("a lane waits for others that never come");
      waiting |= thread.state == State::at_barrier;
      if (thread.state == State::at_barrier) thread.state = State::ready;
    }
    if (!waiting) return;
  }
}

}  // namespace

void run_grid(Index grid, Index block, const Order& order, const std::function<void()>& kernel) {
  body = &kernel;
  order_of_block = order;
  gridDim = grid;
  blockDim = block;
  const unsigned blocks = grid.x * grid.y * grid.z;
  threads.clear();
  try {
    for (unsigned i = 0; i < blocks; ++i) {
      const unsigned b = order.first_to_last ? i : blocks - 1 - i;
      blockIdx = {b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y};
      run_block(block);
    }
  } catch (const KernelFault& error) {
    fault.clear();
    throw KernelFault("block (" + std::to_string(blockIdx.x) + ", " + std::to_string(blockIdx.y) + ", " +
                      std::to_string(blockIdx.z) + "), thread (" + std::to_string(threadIdx.x) + ", " +
                      std::to_string(threadIdx.y) + "): " + error.what());
  }
}

void barrier() {
  current->state = State::at_barrier;
  yield();
}

void with_warp(unsigned mask, void* mine, void (*together)(void* const*)) {
  Warp& warp = warps[static_cast<std::size_t>(current->warp)];
  mask &= warp.lanes;
  if (warp.arrived == 0) {
    warp.mask = mask;
    warp.together = together;
  } else if (warp.mask != mask || warp.together != together) {
    end_with_fault("the lanes of a warp meet in different operations");
  }
  warp.operands[current->lane] = mine;
  warp.arrived |= 1U << current->lane;
  if (warp.arrived != mask) {
    current->state = State::at_warp;
    yield();
    return;
  }
  together(warp.operands);
  warp.arrived = 0;
  std::memset(warp.operands, 0, sizeof warp.operands);
  Thread* const lanes = &threads[static_cast<std::size_t>(current->warp) * 32];
  for (int i = 0; i < 32; ++i) {
    if ((mask >> i & 1U) != 0 && lanes[i].state == State::at_warp) lanes[i].state = State::ready;
  }
}

void copy_later(void* to, const void* from, int bytes) {
  const Copy copy{to, from, bytes};
  if (order_of_block.late_copies) {
    current->copies.push_back(copy);
  } else {
    copy_now(copy);
  }
}

void finish_copies() {
  for (const Copy& copy : current->copies) copy_now(copy);
  current->copies.clear();
}

}  // namespace kvcap::gpu
