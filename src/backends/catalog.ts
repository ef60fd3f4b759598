// Compute back ends that svc can add to llama.cpp: which package each comes in, and its pinned content.
//
// A back end must be of the very llama.cpp release that svc embeds: ggml has no stable binary interface between releases.

/** The package release that the embedded llama.cpp comes from; test/backends compares it with prebuilt/source. */
export const RELEASE = "3.22.1";

export interface BackendKind {
  readonly name: string;
  /** npm package with the library, at RELEASE. */
  readonly package: string;
  /** The library within the package. */
  readonly path: string;
  readonly sha256: string;
  /** What the library is called in its folder; ggml finds entry points by this name. */
  readonly file: string;
  /** Shared libraries of the system that it needs, in load order, one of their symbols, and the packages that bring them. */
  readonly needs: readonly { readonly library: string; readonly symbol: string; readonly from: string }[];
}

/** Folders with vendors' libraries outside the loader's search path. */
export const VENDOR_FOLDERS: readonly string[] = [
  "/usr/local/cuda/lib64",
  "/usr/local/cuda/targets/x86_64-linux/lib",
  "/opt/cuda/lib64",
];

/** For Linux on x86-64, the platform with prebuilt libraries. */
export const BACKENDS: readonly BackendKind[] = [
  {
    name: "vulkan",
    package: "@node-llama-cpp/linux-x64-vulkan",
    path: "bins/linux-x64-vulkan/libggml-vulkan.so",
    sha256: "5dbbe80b520118b6b71f3ea31935ba107cee9c9c68f7e7ed18b20cdb424e819b",
    file: "libggml-vulkan.so",
    needs: [
      {
        library: "libvulkan.so.1",
        symbol: "vkGetInstanceProcAddr",
        from: "the Vulkan loader (Debian: libvulkan1)",
      },
    ],
  },
  {
    name: "cuda",
    package: "@node-llama-cpp/linux-x64-cuda",
    path: "bins/linux-x64-cuda/libggml-cuda.so",
    sha256: "f00882ca593ddf380778f5ac835690bcdaad951cd4700829c7a03aa0c32bcf47",
    file: "libggml-cuda.so",
    needs: [
      { library: "libcuda.so.1", symbol: "cuInit", from: "NVIDIA's driver" },
      { library: "libcudart.so.13", symbol: "cudaGetDeviceCount", from: "CUDA 13 (NVIDIA: cuda-cudart-13)" },
      { library: "libcublas.so.13", symbol: "cublasCreate_v2", from: "CUDA 13 (NVIDIA: libcublas-13)" },
    ],
  },
];
