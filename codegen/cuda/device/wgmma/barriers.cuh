// Mbarriers and named barriers, and accesses to shared memory by 32-bit address.
// Requires: types.cuh, and the macro SM, the qualifiers of a device function. Comes before products.cuh.


// Returns the address in shared memory of what p points to, as the functions below take it.
SM unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
SM int load_shared(unsigned from) {
  int value;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(value) : "r"(from) : "memory");
  return value;
}
SM void store_shared(unsigned to, int value) { asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(value) : "memory"); }
// Stores 16 bytes; `to` is a multiple of 16.
SM void store_four(unsigned to, float x, float y, float z, float w) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to), "f"(x), "f"(y), "f"(z), "f"(w) : "memory");
}

// ---- mbarriers, 8 bytes each: a phase ends after all arrivals, when all expected bytes have been copied
// One thread calls this; then a fence makes it visible to the TMA unit, and a barrier to other threads.
SM void barrier_init(unsigned barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
// Arrives. If lanes themselves have accessed the memory that the barrier guards, every lane arrives: one
// arrival per warp is no faster, and race detectors do not see that the warp waited for all its lanes.
SM void barrier_arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
// Arrives, and makes the phase wait for `bytes` bytes more, which TMA copies count. One thread calls it.
SM void barrier_expect(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
// Waits until the phase with this parity has ended: 0 for the first phase, 1 for the second, 0 for the third.
// On a new barrier, parity 1 does not wait. try_wait gives up after some time, hence the loop; the braces
// make its labels local, because this text occurs several times in a kernel.
SM void barrier_wait(unsigned barrier, unsigned parity) {
  asm volatile(
      "{\n.reg .pred done;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@done bra DONE;\n"
      "bra WAIT;\nDONE:\n}" ::"r"(barrier), "r"(parity) : "memory");
}
// ---- named barriers, 1 to 15: `threads` counts the threads that wait and those that only arrive
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
