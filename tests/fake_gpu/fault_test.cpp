// A kernel that reaches memory which is not there: the step is named where it can be known, and from then on
// every call says the same.
#include "runtime/base/error.h"
#include "tests/fake_gpu/example.h"
#include "tests/fake_gpu/other_process.h"

namespace smelt::fake {
namespace {

constexpr int kIllegalAddress = 700;

/// The kernel's run number `at` (from 0) breaks.
void break_run(int at) {
  gpu().kernels["descend"].run = [at, run = std::make_shared<int>(0)](const KernelCall& call) {
    if ((*run)++ == at) gpu().fault = kIllegalAddress;
    descend(call);
  };
}

class Fault : public FakeGpu {
 protected:
  /// The message of the first of some steps that fails.
  static std::string training(Session& session, int64_t steps = 4) {
    return message_of([&] {
      for (int64_t step = 0; step < steps; ++step) train(session, step);
    });
  }
};

void expect_the_step(const std::string& message) {
  EXPECT_HAS(message,
             "entry 'train_step' at B = 5, step 1: kernel 'descend' in 3 blocks of 4 threads over 12");
  EXPECT_HAS(message, "of head.update, decay");
  EXPECT_HAS(message, "reads 'w' (12 f32), 'y' (15 f32), writes 'w' (12 f32)");
  EXPECT_HAS(message, "CUDA_ERROR_ILLEGAL_ADDRESS");
}

TEST_F(Fault, InTheFirstRunNamesTheStep) {
  in_another_process([] {
    break_run(0);
    const auto broken = session();
    expect_the_step(training(*broken));
  });
}

TEST_F(Fault, InAGraphNamesTheEntryAndWhatToDo) {
  in_another_process([] {
    break_run(2);
    const auto broken = session();
    const std::string message = training(*broken);
    EXPECT_HAS(message, "GPU: a fault in entry 'train_step' at B = 5: CUDA_ERROR_ILLEGAL_ADDRESS");
    EXPECT_HAS(message, "--check-steps (SMELT_CHECK_STEPS=1)");
    EXPECT_EQ(gpu().graph_launches, 2);
  });
}

TEST_F(Fault, CheckedStepsAreNamedInAnyRun) {
  in_another_process([] {
    break_run(2);
    const auto broken = session(linear_plan(), {.check_steps = true});
    expect_the_step(training(*broken));
    EXPECT_EQ(gpu().graph_launches, 0);
  });
  in_another_process([] {
    ::setenv("SMELT_CHECK_STEPS", "1", 1);
    break_run(3);
    const auto broken = session();
    expect_the_step(training(*broken));
  });
}

TEST_F(Fault, WatchedAndProfiledRunsTellIt) {
  in_another_process([] {
    break_run(1);
    const auto broken = session(linear_plan(), {.after_step = [](const StepDone&) {}});
    expect_the_step(training(*broken));
  });
  in_another_process([] {
    break_run(1);
    const auto broken = session(linear_plan(), {.profile = true});
    EXPECT_HAS(training(*broken), "a fault in entry 'train_step' at B = 5");
  });
}

/// Runs whose outputs no caller waits for: a later call reports the fault.
TEST_F(Fault, OfARunUnderWayIsNotBlamedOnTheNext) {
  in_another_process([] {
    break_run(2);
    const auto broken = session();
    const std::vector<float> x(5 * kIn, 1.0f);
    const InputTensor input{"x", DType::f32, {5, kIn}, x.data()};
    const auto run = [&] { broken->run("train_step", {&input, 1}, std::span<const OutputBuffer>()); };
    for (int i = 0; i < 3; ++i) run();
    const std::string message = message_of([&] { train(*broken, 0, 3); });  // of a shape that is new
    EXPECT_HAS(message, "a fault in entry 'train_step' at B = 5:");
  });
}

TEST_F(Fault, EverythingAnswersWithIt) {
  in_another_process([] {
    break_run(1);
    auto broken = session(), other = session();
    const std::string message = training(*broken);
    EXPECT_HAS(message, "that GPU is lost to this process");
    Executor& executor = broken->executor();
    for (const std::function<void()>& call : std::initializer_list<std::function<void()>>{
             [&] { train(*broken, 0); }, [&] { train(*other, 0); }, [&] { executor.synchronize(); },
             [&] { executor.state(0); }, [&] { executor.read_state(0); }, [&] { executor.clear_state(0); },
             [&] { executor.copy_bytes_per_second(); }, [&] { executor.restore_choices("{}"); },
             [&] { session(); }})
      EXPECT_EQ(message_of(call), message);
    executor.choices();
    executor.profile();
    broken.reset(), other.reset();
    EXPECT_EQ(gpu().blocks_in_use, 0u);
  });
}

TEST_F(Fault, AnErrorOfTheCallersIsNone) {
  in_another_process([] {
    const auto ready = session();
    EXPECT_HAS(message_of([&] { ready->executor().state(7); }), "state 7: expected one of the plan's 1");
    EXPECT_EQ(train(*ready, 0).size(), 15u);
  });
}

TEST_F(Fault, TheVariableIsChecked) {
  ::setenv("SMELT_CHECK_STEPS", "yes", 1);
  EXPECT_HAS(message_of([] { session(); }), "SMELT_CHECK_STEPS is 'yes': expected 1 or 0");
  ::unsetenv("SMELT_CHECK_STEPS");
}

}  // namespace
}  // namespace smelt::fake
