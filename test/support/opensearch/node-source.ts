/** The program that runs OpenSearch: one node with HTTP and the k-NN plugin, both from the class path. */
export const NODE_CLASS = 'OpenSearchNode';

export const NODE_SOURCE = `
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.codelibs.opensearch.runner.node.OpenSearchRunnerNode;
import org.opensearch.common.settings.Settings;
import org.opensearch.knn.plugin.KNNPlugin;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.transport.Netty4Plugin;

/** Arguments: the folder of the data, and the port. */
public class OpenSearchNode {
  public static void main(String[] arguments) throws Exception {
    var settings = Settings.builder()
        .put("path.home", arguments[0])
        .put("cluster.name", "postback")
        .put("node.name", "node")
        .put("node.processors", 2)
        .put("network.host", "127.0.0.1")
        .put("http.port", arguments[1])
        .put("http.type", "netty4")
        .put("transport.port", "0")
        .put("transport.type", "netty4")
        .put("discovery.type", "single-node")
        .put("cluster.routing.allocation.disk.threshold_enabled", false)
        .put("cluster.max_shards_per_node", 10_000)
        .build();
    var config = Path.of(arguments[0], "config");
    var environment = InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), config, () -> "node");
    var node = new OpenSearchRunnerNode(environment, List.of(Netty4Plugin.class, KNNPlugin.class));
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      try {
        node.close();
      } catch (Exception error) {
        error.printStackTrace();
      }
    }));
    node.start();
    // All other threads are daemons.
    Thread.currentThread().join();
  }
}
`;
