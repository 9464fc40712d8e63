// The memory that a run's inputs go through: a later run uses it again when the device has read them.
#include "tests/fake_gpu/example.h"

namespace smelt::fake {
namespace {

class InputSlots : public FakeGpu {
 protected:
  /// How often runs wait for an event, behind some that tune and fill all slots.
  static int waits_in(Session& session, int64_t runs) {
    for (int64_t step = 0; step < 4; ++step) train(session, step);
    const int before = gpu().event_waits;
    for (int64_t step = 0; step < runs; ++step) train(session, step);
    return gpu().event_waits - before;
  }
};

TEST_F(InputSlots, AreUsedAgainWithoutWaitingWhereTheyWereRead) {
  const auto trained = session();
  EXPECT_EQ(waits_in(*trained, 8), 0);
}

TEST_F(InputSlots, AreWaitedForWhereTheDeviceIsLate) {
  const auto trained = session(), late = session();
  EXPECT_EQ(waits_in(*trained, 8), 0);
  gpu().late_events = true;
  EXPECT_EQ(waits_in(*late, 8), 8);
  EXPECT_EQ(weights(*trained), weights(*late));
}

}  // namespace
}  // namespace smelt::fake
