/** Version of the service; spec: Versioning. */
export const VERSION = "0.9.4";
