// Copies of boxes by TMA to the blocks of a cluster, for the matmul kernel for sm_90a.
// Requires: sizes.cuh and the files of ../wgmma. A box of an operand has 64 x 64 elements of 16 bits, stored as 64
// rows of 128 bytes with the 128-byte swizzle.


// Copies a box to the same shared memory address in all blocks of the cluster. The mbarrier at the address
// `barrier` of each block counts the bytes that have been copied to that block. One lane calls it.
SM void copy_box_to_all(unsigned to, const TensorMap& map, int x, int y, unsigned barrier) {
  if (kCluster == 1) return copy_box(to, map, x, y, barrier);
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], "
      "[%4], %5;" ::"r"(to), "l"(&map), "r"(x), "r"(y), "r"(barrier), "h"((unsigned short)((1 << kCluster) - 1)) : "memory");
}
// Returns true in one lane of the warp, and false in the others. All lanes call it. Because of elect.sync,
// the compiler knows that only one lane runs the code that this result selects.
SM bool is_elected() {
  unsigned elected;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xFFFFFFFF;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(elected));
  return elected != 0;
}
