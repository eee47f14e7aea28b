import java.nio.file.Path;
import org.neo4j.dbms.api.DatabaseManagementService;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;

/** Runs a Neo4j server in the foreground: java -cp 'lib/*' Launch.java HOME (reads HOME/conf/neo4j.conf). */
public class Launch {
    public static void main(String[] args) throws InterruptedException {
        Path home = Path.of(args[0]);
        DatabaseManagementService server = new DatabaseManagementServiceBuilder(home)
                .loadPropertiesFromFile(home.resolve("conf/neo4j.conf"))
                .build();
        Runtime.getRuntime().addShutdownHook(new Thread(server::shutdown));
        Thread.currentThread().join();
    }
}
