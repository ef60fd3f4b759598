// Compute back ends that svc can add to llama.cpp: which package each comes in, and its pinned content.
//
// A back end must be of the very llama.cpp release that svc embeds: ggml has no stable binary interface between releases.
// They come from the npm package by Bun's own package manager: a registry client would have to read mirrors, proxies and credentials of
// .npmrc. Inside the executable they would be 200 MB for everybody.

/** The package release that the embedded llama.cpp comes from; test/backends compares it with prebuilt/source. */
export const RELEASE = "3.22.1";

/** A Python wheel with libraries of a vendor, its content pinned. */
export interface Wheel {
  readonly project: string;
  readonly version: string;
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
  /** Bytes of its libraries. */
  readonly unpackedBytes: number;
  /** Paths of the libraries within the wheel. */
  readonly libraries: readonly string[];
}

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
  /** Where those of them come from that the system may lack. */
  readonly wheels: readonly Wheel[];
  /** Which cards the published library runs on; absent: all that have a driver. */
  readonly code?: CardCode;
}

/** Machine code in a library for NVIDIA's cards. */
export interface CardCode {
  /** Compute capabilities that it is for, 86 for 8.6. */
  readonly capabilities: readonly number[];
  /** CUDA version from which a driver compiles the code for other cards: that of the compiler, 13010 for 13.1. */
  readonly compiledFrom: number;
  /** The first driver with it. */
  readonly driver: string;
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
    wheels: [],
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
      // libcublas needs it by name; it is found there only when it is loaded already.
      { library: "libcublasLt.so.13", symbol: "cublasLtCreate", from: "CUDA 13 (NVIDIA: libcublas-13)" },
      { library: "libcublas.so.13", symbol: "cublasCreate_v2", from: "CUDA 13 (NVIDIA: libcublas-13)" },
    ],
    // As `cuobjdump --list-elf --list-ptx` of CUDA's tools lists it; the version of PTX is 9.1.
    code: { capabilities: [86, 89, 120, 121], compiledFrom: 13_010, driver: "590" },
    wheels: [
      {
        project: "nvidia-cuda-runtime",
        version: "13.0.96",
        file: "nvidia_cuda_runtime-13.0.96-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
        bytes: 2_243_632,
        sha256: "7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548",
        unpackedBytes: 704_288,
        libraries: ["nvidia/cu13/lib/libcudart.so.13"],
      },
      {
        project: "nvidia-cublas",
        version: "13.1.0.3",
        file: "nvidia_cublas-13.1.0.3-py3-none-manylinux_2_27_x86_64.whl",
        bytes: 423_133_236,
        sha256: "ee8722c1f0145ab246bccb9e452153b5e0515fd094c3678df50b2a0888b8b171",
        unpackedBytes: 595_773_576,
        libraries: ["nvidia/cu13/lib/libcublasLt.so.13", "nvidia/cu13/lib/libcublas.so.13"],
      },
    ],
  },
];
