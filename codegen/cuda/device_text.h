// The files of codegen/cuda/device/ as strings, without the comments at their beginning. A constant is named
// after its file: kTopKFew is the text of top_k/few.cuh. cmake/embed.cmake generates the definitions.
#pragma once

#include <string_view>

namespace smelt::device {

extern const std::string_view kCopy, kDequantizeKernel, kHalves, kRound, kSharedMemory, kTranspose;
extern const std::string_view kByteGemmFunction, kByteGemmWidenTwo;
extern const std::string_view kAttentionLaneRange, kAttentionTileRange;
extern const std::string_view kAttentionDecodeBlock, kAttentionDecodeCodeNumbers,
    kAttentionDecodeInstructions, kAttentionDecodeKeys, kAttentionDecodeLaneSums, kAttentionDecodeLanes,
    kAttentionDecodeLayout, kAttentionDecodePartBlock, kAttentionDecodePartCopies, kAttentionDecodePartMerge,
    kAttentionDecodeResults, kAttentionDecodeRows, kAttentionDecodeScores, kAttentionDecodeTickets,
    kAttentionDecodeTileSums;
extern const std::string_view kAttentionMmaElementGradient, kAttentionMmaElements, kAttentionMmaForward,
    kAttentionMmaGradients, kAttentionMmaInstructions, kAttentionMmaKeyGradients, kAttentionMmaPartForward,
    kAttentionMmaParts, kAttentionMmaQueryGradients, kAttentionMmaRest, kAttentionMmaScores,
    kAttentionMmaSoftmax, kAttentionMmaTableRows, kAttentionMmaTiles;
extern const std::string_view kAttentionWgmmaBackward, kAttentionWgmmaBackwardTiles, kAttentionWgmmaForward,
    kAttentionWgmmaForwardTiles, kAttentionWgmmaGradients, kAttentionWgmmaMath, kAttentionWgmmaOrder,
    kAttentionWgmmaQueryGradient, kAttentionWgmmaTiles, kAttentionWgmmaWeights;
extern const std::string_view kBatchedGemmInstructions, kBatchedGemmKernel, kBatchedGemmPutPair;
extern const std::string_view kGemmCopies, kGemmEpilogue, kGemmFunction, kGemmParts, kGemmSizes, kGemmTiles;
extern const std::string_view kInitializeDraws, kInitializeKernel, kInitializeStoreBf16, kInitializeStoreF32;
extern const std::string_view kMmaGemmCopies, kMmaGemmFunction, kMmaGemmInstructions, kMmaGemmLanes,
    kMmaGemmProducts, kMmaGemmSizes;
extern const std::string_view kPreludeFunctions, kPreludeMemory, kPreludeThreads;
extern const std::string_view kRowsCluster, kRowsEntry, kRowsOneBlock;
extern const std::string_view kSamplingBest, kSamplingBins, kSamplingKernel, kSamplingList, kSamplingRow,
    kSamplingSearch, kSamplingWeights;
extern const std::string_view kScanColumns, kScanRows;
extern const std::string_view kSmallMGemmChain, kSmallMGemmFunction, kSmallMGemmInstructions,
    kSmallMGemmKernel, kSmallMGemmPairs, kSmallMGemmWidenBytes, kSmallMGemmWidenCodes;
extern const std::string_view kSortingBegins, kSortingCount, kSortingDigits, kSortingPlace, kSortingRank;
extern const std::string_view kTopKFew, kTopKPut, kTopKSelect;
extern const std::string_view kWgmmaBarriers, kWgmmaCopies, kWgmmaProducts, kWgmmaTypes;

}  // namespace smelt::device
