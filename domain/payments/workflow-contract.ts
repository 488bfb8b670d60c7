/** Input of the workflow that ends an authentication at its expiry. */
export interface AuthenticationRef {
  /** `auth_…` */
  authentication: string;
  org: string;
}
