// Barriers in shared memory, and accesses to shared memory by address.
// Requires: SM and types.cuh. Comes before products.cuh.


SM unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
SM int load_shared(unsigned from) {
  int value;
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(value) : "r"(from) : "memory");
  return value;
}
SM void store_shared(unsigned to, int value) { asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(value) : "memory"); }
SM void store_four(unsigned to, float x, float y, float z, float w) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(to), "f"(x), "f"(y), "f"(z), "f"(w) : "memory");
}

// ---- barriers in shared memory; a phase ends when all have arrived and all announced bytes are there
SM void barrier_init(unsigned barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
// By every lane for itself where lanes have read or written what the barrier guards: one that arrives for its warp is no
// faster, and tools that look for races do not see what it waited for.
SM void barrier_arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
SM void barrier_expect(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
SM void barrier_wait(unsigned barrier, unsigned parity) {
  asm volatile(
      "{\n.reg .pred done;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@done bra DONE;\n"
      "bra WAIT;\nDONE:\n}" ::"r"(barrier), "r"(parity) : "memory");
}
template <int threads>
SM void named_sync(int id) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "n"(threads) : "memory");
}
template <int threads>
SM void named_arrive(int id) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "n"(threads) : "memory");
}
// Ordinary stores to shared memory before the tensor cores or the copy engine read them.
SM void fence_stores() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
