// Accesses to shared memory by 32-bit address.
// Requires: the macro SM (the qualifiers of a device function).


// Returns the address in shared memory of what p points to. The functions below take such addresses of 32
// bits.
SM unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
// Load or store 4 bytes.
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
