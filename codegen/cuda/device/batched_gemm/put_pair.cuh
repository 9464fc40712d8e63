// The type of a 16-bit result, and the function put_pair, which rounds two sums to this type and stores
// them in adjacent elements.
// Requires: the macro SM (the qualifiers of a device function). The code generator replaces the word TYPE by bf16 or f16.
// Comes before kernel.cuh.

struct TYPE { unsigned short bits; };
// Rounds x and y, and stores x in to[0] and y in to[1]. Requires: `to` is aligned to 4 bytes.
SM void put_pair(TYPE* to, float x, float y) {
  asm("cvt.rn.TYPEx2.f32 %0, %1, %2;" : "=r"(*(unsigned*)to) : "f"(y), "f"(x));
}
