package io.github.kgsvc.client;

/**
 * What runs there.
 *
 * @param status healthy
 * @param version that of the service
 * @param contractRevision which operations and fields it knows
 * @param store where it keeps the graph
 */
public record Health(String status, String version, int contractRevision, String store) {
  static Health of(kgsvc.v1.HealthcheckOutput raw) {
    return new Health(
        raw.getStatus(), raw.getVersion(), raw.getContractRevision(), raw.getStore());
  }
}
