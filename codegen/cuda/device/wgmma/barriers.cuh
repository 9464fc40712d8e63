// Mbarriers and named barriers.
// Requires: types.cuh, ../shared_memory.cuh, and the macro SM (the qualifiers of a device function). Comes before products.cuh.


// ---- mbarriers, 8 bytes each
// A phase of an mbarrier ends when all its arrivals have been counted and all expected bytes have been
// copied.

// Initializes a barrier, whose phases have `arrivals` arrivals each. One thread calls this. Then a fence
// must make the barrier visible to the TMA unit, and a block barrier to the other threads.
SM void barrier_init(unsigned barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
// Counts one arrival. If lanes have accessed the memory that the barrier guards, each of these lanes must
// call this: one arrival per warp is no faster, and race detectors would report errors.
SM void barrier_arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
// Counts one arrival, and makes the phase also wait for `bytes` bytes of TMA copies. One thread calls it.
SM void barrier_expect(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
// Waits until the phase with this parity has ended. The parity is 0 for the first phase of a barrier, 1 for
// the second, 0 for the third, and so on. On a new barrier, a wait for parity 1 returns at once. The loop is
// needed because try_wait may return before the phase ends. The braces make the labels local, because this
// text occurs several times in a kernel.
SM void barrier_wait(unsigned barrier, unsigned parity) {
  asm volatile(
      "{\n.reg .pred done;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@done bra DONE;\n"
      "bra WAIT;\nDONE:\n}" ::"r"(barrier), "r"(parity) : "memory");
}
// ---- named barriers, numbers 1 to 15
// Both functions arrive at a barrier, which completes when `threads` threads have arrived. named_sync also
// waits for that, and named_arrive does not.
template <int threads>
SM void named_sync(int id) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "n"(threads) : "memory");
}
template <int threads>
SM void named_arrive(int id) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "n"(threads) : "memory");
}
// Makes the previous ordinary stores of this thread to shared memory visible to wgmma and TMA, which access
// memory by another path (the async proxy).
SM void fence_stores() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
